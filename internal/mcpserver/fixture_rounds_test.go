//nolint:staticcheck // the suites still want what is going out of the protocol
package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What asks the client by its result, as the newer protocol has it: the client calls again
// with the answers, and with the state that it was given.

type handler = func(context.Context, *request) (*answer, error)

// form asks for one field.
func form(field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "What is the " + field + "?", RequestedSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{field: {Type: kind}}, Required: []string{field},
	}}
}

func accepted(said mcp.InputResponseMap, key string) map[string]any {
	if r, ok := said[key].(*mcp.ElicitResult); ok && r != nil && r.Action == "accept" {
		return r.Content
	}
	return nil
}

func sampled(said mcp.InputResponseMap, key string) (string, bool) {
	r, ok := said[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || r == nil {
		return "", false
	}
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

func sample(text string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}, MaxTokens: 50,
	}
}

func ask(state string, what mcp.InputRequestMap) *answer {
	return &answer{InputRequests: what, RequestState: state}
}

// sealed is a state that the client cannot change without being found out.
func sealed(state string) string { return state + "." + seal(state) }

func seal(state string) string {
	m := hmac.New(sha256.New, []byte("made for tests"))
	m.Write([]byte(state))
	return hex.EncodeToString(m.Sum(nil))
}

func opened(state string) (string, bool) {
	text, mark, _ := strings.Cut(state, ".")
	return text, hmac.Equal([]byte(mark), []byte(seal(text)))
}

func rounds() map[string]handler {
	confirmed := func(_ context.Context, r *request) (*answer, error) {
		if r.Params.RequestState != "" {
			if _, ok := opened(r.Params.RequestState); !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this is not the state that was given"}
			}
			if accepted(r.Params.InputResponses, "confirm") != nil {
				return say("state-ok: confirmed"), nil
			}
		}
		return ask(sealed("confirm"), mcp.InputRequestMap{"confirm": form("ok", "boolean")}), nil
	}
	return map[string]handler{
		"request_state":  confirmed,
		"tampered_state": confirmed,
		"elicitation": func(_ context.Context, r *request) (*answer, error) {
			if name, _ := accepted(r.Params.InputResponses, "user_name")["name"].(string); name != "" {
				return say("Hello, %s!", name), nil
			}
			return ask("", mcp.InputRequestMap{"user_name": form("name", "string")}), nil
		},
		"sampling": func(_ context.Context, r *request) (*answer, error) {
			if text, ok := sampled(r.Params.InputResponses, "capital_question"); ok {
				return say("Sampling response: %s", text), nil
			}
			return ask("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?")}), nil
		},
		"list_roots": func(_ context.Context, r *request) (*answer, error) {
			if res, ok := r.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok && res != nil {
				return say("%d roots: %v", len(res.Roots), res.Roots[0].URI), nil
			}
			return ask("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
		},
		"multiple_inputs": multipleInputs,
		"multi_round":     multiRound,
		"capabilities":    byCapabilities,
	}
}

func multipleInputs(_ context.Context, r *request) (*answer, error) {
	name, _ := accepted(r.Params.InputResponses, "user_name")["name"].(string)
	greeting, greeted := sampled(r.Params.InputResponses, "greeting")
	if _, rooted := r.Params.InputResponses["client_roots"]; name != "" && greeted && rooted {
		return say("%s %s", greeting, name), nil
	}
	return ask(sealed("all"), mcp.InputRequestMap{
		"user_name": form("name", "string"), "greeting": sample("Generate a greeting"), "client_roots": &mcp.ListRootsParams{},
	}), nil
}

func multiRound(_ context.Context, r *request) (*answer, error) {
	if r.Params.RequestState == "" {
		return ask(sealed("one"), mcp.InputRequestMap{"step1": form("name", "string")}), nil
	}
	state, ok := opened(r.Params.RequestState)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this is not the state that was given"}
	}
	if state == "one" {
		name := fmt.Sprint(accepted(r.Params.InputResponses, "step1")["name"])
		return ask(sealed("two "+name), mcp.InputRequestMap{"step2": form("color", "string")}), nil
	}
	return say("%s likes %v", strings.TrimPrefix(state, "two "), accepted(r.Params.InputResponses, "step2")["color"]), nil
}

// byCapabilities asks only for what the client says that it can do.
func byCapabilities(_ context.Context, r *request) (*answer, error) {
	if len(r.Params.InputResponses) > 0 {
		return say("answered"), nil
	}
	what := mcp.InputRequestMap{}
	if caps := r.ClientCapabilities(); caps != nil {
		if caps.Elicitation != nil {
			what["user_name"] = form("name", "string")
		}
		if caps.Sampling != nil {
			what["greeting"] = sample("Generate a greeting")
		}
	}
	if len(what) == 0 {
		return say("the client can answer nothing"), nil
	}
	return ask("", what), nil
}
