//nolint:staticcheck // the suites still want what is going out of the protocol
package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server with what the suite of conformance looks for, by the names that it wants.

type (
	request = mcp.CallToolRequest
	answer  = mcp.CallToolResult
)

func say(format string, args ...any) *answer {
	return &answer{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

var (
	picture = func() []byte {
		var b bytes.Buffer
		_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1)))
		return b.Bytes()
	}()
	silence = append([]byte("RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00"), 0, 0)
	inside  = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://inside", MIMEType: "text/plain", Text: "inside"}}
	image1  = &mcp.ImageContent{Data: picture, MIMEType: "image/png"}
)

// wideSchema uses what a list of tools must not lose.
const wideSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}`

const headerSchema = `{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`

// fixture returns the server.
func fixture() *mcp.Server {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   nothing,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	schemas := map[string]string{"json_schema_2020_12_tool": wideSchema, "test_x_mcp_header": headerSchema}
	add := func(name string, h func(context.Context, *request) (*answer, error)) {
		schema := schemas[name]
		if schema == "" {
			schema = `{"type": "object"}`
		}
		s.AddTool(&mcp.Tool{Name: name, Description: "for conformance", InputSchema: json.RawMessage(schema)}, h)
	}
	content := func(list ...mcp.Content) func(context.Context, *request) (*answer, error) {
		return func(context.Context, *request) (*answer, error) { return &answer{Content: list}, nil }
	}
	words := &mcp.TextContent{Text: "This is a simple text response for testing."}
	add("test_simple_text", content(words))
	add("test_image_content", content(image1))
	add("test_audio_content", content(&mcp.AudioContent{Data: silence, MIMEType: "audio/wav"}))
	add("test_embedded_resource", content(inside))
	add("test_multiple_content_types", content(words, image1, inside))
	add("json_schema_2020_12_tool", content(words))
	add("test_x_mcp_header", content(words))
	add("test_streaming_elicitation", content(words))
	add("test_error_handling", func(context.Context, *request) (*answer, error) {
		a := say("This tool intentionally returns an error for testing")
		a.IsError = true
		return a, nil
	})
	add("test_tool_with_logging", logs(3))
	add("test_logging_tool", logs(1))
	add("test_tool_with_progress", progresses)
	add("test_reconnection", func(_ context.Context, r *request) (*answer, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond) // the result comes when the client has gone
		return say("reconnected"), nil
	})
	add("test_missing_capability", missingCapability)
	add("test_trigger_tool_change", func(context.Context, *request) (*answer, error) {
		add("transient", content(words))
		return say("published"), nil
	})
	add("test_trigger_prompt_change", func(context.Context, *request) (*answer, error) {
		s.AddPrompt(&mcp.Prompt{Name: "transient", Description: "for conformance"}, prompt(words))
		return say("published"), nil
	})
	addAsking(add)
	for name, h := range rounds() {
		add("test_input_required_result_"+name, h)
	}
	addResources(s)
	addPrompts(s)
	return s
}

func logs(n int) func(context.Context, *request) (*answer, error) {
	return func(ctx context.Context, r *request) (*answer, error) {
		for i := range n {
			_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: fmt.Sprintf("step %d", i)})
			time.Sleep(20 * time.Millisecond)
		}
		return say("logged"), nil
	}
}

func progresses(ctx context.Context, r *request) (*answer, error) {
	token := r.Params.GetProgressToken()
	for i := range 3 {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(50 * i), Total: 100})
		if err != nil {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return say("%v", token), nil
}

func missingCapability(_ context.Context, r *request) (*answer, error) {
	if caps := r.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return say("there"), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is required", Data: data}
}

// addAsking adds what asks the client within a call, as the older protocol has it.
func addAsking(add func(string, func(context.Context, *request) (*answer, error))) {
	add("test_sampling", func(ctx context.Context, r *request) (*answer, error) {
		var in struct{ Prompt string }
		_ = json.Unmarshal(r.Params.Arguments, &in)
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}}, MaxTokens: 100,
		})
		if err != nil {
			return nil, err
		}
		text, _ := res.Content.(*mcp.TextContent)
		if text == nil {
			return nil, errors.New("the client answered with no text")
		}
		return say("LLM response: %s", text.Text), nil
	})
	elicit := func(name, schema string) {
		add(name, func(ctx context.Context, r *request) (*answer, error) {
			var in struct{ Message string }
			_ = json.Unmarshal(r.Params.Arguments, &in)
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Message + " ", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			return say("Elicitation completed: action=%s, content=%v", res.Action, res.Content), nil
		})
	}
	elicit("test_elicitation", `{"type": "object", "properties": {"username": {"type": "string", "description": "a name"}}, "required": ["username"]}`)
	elicit("test_elicitation_sep1034_defaults", `{"type": "object", "properties": {
		"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true}}}`)
	const titled = `[{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]`
	elicit("test_elicitation_sep1330_enums", `{"type": "object", "properties": {
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": `+titled+`},
		"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
		"untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": `+titled+`}}}}`)
}

func addResources(s *mcp.Server) {
	read := func(mime, text string, blob []byte) mcp.ResourceHandler {
		return func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: r.Params.URI, MIMEType: mime, Text: strings.ReplaceAll(text, "ID", id), Blob: blob},
			}}, nil
		}
	}
	s.AddResource(&mcp.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"}, read("text/plain", "a text", nil))
	s.AddResource(&mcp.Resource{Name: "binary", URI: "test://static-binary", MIMEType: "image/png"}, read("image/png", "", picture))
	s.AddResource(&mcp.Resource{Name: "watched", URI: "test://watched-resource", MIMEType: "text/plain"}, read("text/plain", "watched", nil))
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		read("application/json", `{"id": "ID", "templateTest": true, "data": "data for ID"}`, nil))
}

func prompt(list ...mcp.Content) mcp.PromptHandler {
	return func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res := &mcp.GetPromptResult{}
		for _, c := range list {
			if t, ok := c.(*mcp.TextContent); ok {
				c = &mcp.TextContent{Text: fmt.Sprintf("%s %v", t.Text, r.Params.Arguments)}
			}
			if e, ok := c.(*mcp.EmbeddedResource); ok {
				with := *e.Resource
				with.URI = r.Params.Arguments["resourceUri"]
				c = &mcp.EmbeddedResource{Resource: &with}
			}
			res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return res, nil
	}
}

func addPrompts(s *mcp.Server) {
	words := &mcp.TextContent{Text: "Do it with"}
	argument := func(name string) *mcp.PromptArgument { return &mcp.PromptArgument{Name: name, Required: true} }
	s.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "for conformance"}, prompt(words))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "for conformance", Arguments: []*mcp.PromptArgument{argument("arg1"), argument("arg2")}}, prompt(words))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "for conformance", Arguments: []*mcp.PromptArgument{argument("resourceUri")}}, prompt(inside, words))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "for conformance"}, prompt(image1, words))
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "for conformance"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if said := accepted(r.Params.InputResponses, "user_context"); said != nil {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(said["context"])}}}}, nil
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("context", "string")}}, nil
	})
}
