package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

const form = `{"type":"object","properties":{
	"user":{"type":"string","title":"Who"},"api_token":{"type":"string"},"age":{"type":"integer","default":3},
	"color":{"type":"string","oneOf":[{"const":"r","title":"Red"}]},"days":{"type":"array","items":{"type":"string","enum":["mo","tu"]}}},
	"required":["user"]}`

// questionServer is a server that asks within a call, and says what it was answered.
func questionServer(t testing.TB, p *sdk.ElicitParams) Server {
	t.Helper()
	s := newServer()
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		r, err := req.Session.Elicit(ctx, p)
		if err != nil {
			return textResult("error " + err.Error()), nil, nil //nolint:nilerr // the test reads it
		}
		b, err := json.Marshal(r.Content)
		return textResult(r.Action + " " + string(b)), nil, err
	})
	// The library does this over rounds of the call in its newer form; servers of today ask by themselves.
	return inProcessServer(t, "a", s)
}

// useLegacyProtocol has a client speak the form in which servers ask by themselves.
func useLegacyProtocol(c *Client) {
	for _, l := range c.links {
		l.legacy = true
	}
}

func TestElicitation(t *testing.T) { synctest.Test(t, elicitation) }

func elicitation(t *testing.T) {
	var got Elicitation
	o := &Options{Elicit: func(_ context.Context, e Elicitation) (Answer, error) {
		got = e
		time.Sleep(time.Hour) // a person's time is not the call's
		return Answer{Action: Accept, Content: json.RawMessage(`{"user":"ann","api_token":"t0p"}`)}, nil
	}}
	var mu sync.Mutex
	var told []string
	o.FireHook = func(_ context.Context, in hook.Input) (hook.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprintf("%s %s %s %s %s", in.Event, in.Question.Server, in.Question.Message, in.Question.Action, in.Question.Content))
		return hook.Outcome{}, nil
	}
	def := questionServer(t, &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(form)})
	def.CallTimeout = time.Minute
	c, _ := open(t, o, def)
	useLegacyProtocol(c)
	r := callWith(t, lookup(t, c, "mcp__a__ask"), &tool.Call{ID: "u7", Input: json.RawMessage("{}")})
	if want := `accept {"age":3,"api_token":"t0p","user":"ann"}`; text(r) != want {
		t.Errorf("got %q, want %q", text(r), want)
	}
	if got.Server != "a" || got.Mode != ModeForm || got.Message != "Who are you?" || got.Call == nil || got.Call.ID != "u7" || len(got.Fields) != 5 {
		t.Fatalf("asked %+v", got)
	}
	want := []string{"age integer", "api_token string secret", "color choice [{r Red}]", "days choices [{mo } {tu }]", "user string required"}
	for i, f := range got.Fields {
		text := f.Name + " " + f.Type
		if f.Secret {
			text += " secret"
		}
		if f.Required {
			text += " required"
		}
		if len(f.Options) > 0 {
			text += fmt.Sprint(" ", f.Options)
		}
		if text != want[i] {
			t.Errorf("field %q, want %q", text, want[i])
		}
	}
	hooks := strings.Join(told, "\n")
	if hooks != "Elicitation a Who are you?  \nElicitationResult a  accept {\"api_token\":\"[masked]\",\"user\":\"ann\"}" {
		t.Errorf("hooks heard %s", hooks)
	}
}

func TestElicitationIsAnswered(t *testing.T) {
	yes := func(context.Context, Elicitation) (Answer, error) {
		return Answer{Action: Accept, Content: json.RawMessage(`{"user":"ann"}`)}, nil
	}
	fixed := func(on hook.Event, out hook.Outcome) func(context.Context, hook.Input) (hook.Outcome, error) {
		return func(_ context.Context, in hook.Input) (hook.Outcome, error) {
			if in.Event != on {
				return hook.Outcome{}, nil
			}
			return out, nil
		}
	}
	said := func(action string) *hook.Text { return &hook.Text{Hook: "h", Text: action} }
	for name, tt := range map[string]struct {
		elicit func(context.Context, Elicitation) (Answer, error)
		fire   func(context.Context, hook.Input) (hook.Outcome, error)
		want   string
	}{
		"a person declines": {func(context.Context, Elicitation) (Answer, error) { return Answer{Action: Decline}, nil }, nil, "decline null"},
		"nobody":            {func(context.Context, Elicitation) (Answer, error) { return Answer{}, context.DeadlineExceeded }, nil, "cancel null"},
		"no answer":         {func(context.Context, Elicitation) (Answer, error) { return Answer{Action: "maybe"}, nil }, nil, "cancel null"},
		"what does not fit": {func(context.Context, Elicitation) (Answer, error) {
			return Answer{Action: Accept, Content: json.RawMessage(`{"user":7}`)}, nil
		}, nil, "error"},
		"a hook blocks":     {yes, fixed(hook.Elicitation, hook.Outcome{Block: said("no")}), "decline null"},
		"a hook answers":    {nil, fixed(hook.Elicitation, hook.Outcome{Action: said(Accept), Content: json.RawMessage(`{"user":"h"}`)}), `accept {"age":3,"user":"h"}`},
		"a hook changes":    {yes, fixed(hook.ElicitationResult, hook.Outcome{Action: said(Accept), Content: json.RawMessage(`{"user":"g"}`)}), `accept {"age":3,"user":"g"}`},
		"a hook takes back": {yes, fixed(hook.ElicitationResult, hook.Outcome{Block: said("")}), "decline null"},
		"a hook's yes to a person's no": {
			func(context.Context, Elicitation) (Answer, error) { return Answer{Action: Decline}, nil },
			fixed(hook.ElicitationResult, hook.Outcome{Action: said(Accept), Content: json.RawMessage(`{"user":"g"}`)}), "decline null",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.elicit == nil {
				tt.elicit = func(context.Context, Elicitation) (Answer, error) {
					t.Error("a person was asked")
					return Answer{}, nil
				}
			}
			c, _ := open(t, &Options{Elicit: tt.elicit, FireHook: tt.fire}, questionServer(t, &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(form)}))
			useLegacyProtocol(c)
			if got := text(call(t, lookup(t, c, "mcp__a__ask"), "{}")); got != tt.want && (tt.want != "error" || !strings.HasPrefix(got, "error")) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An address is for the person to visit; no hook does that for him.
func TestElicitationOfAURL(t *testing.T) {
	for to, want := range map[string]string{
		"https://x.example/ok": "accept null", "http://x.example/": "error", "javascript:alert(1)": "error", "https://x.example/\u202e": "error", "http://127.0.0.1:9/": "accept null",
	} {
		var seen string
		o := &Options{
			Elicit: func(_ context.Context, e Elicitation) (Answer, error) {
				seen = e.URL
				return Answer{Action: Accept, Content: json.RawMessage(`{"x":1}`)}, nil
			},
			FireHook: func(context.Context, hook.Input) (hook.Outcome, error) {
				return hook.Outcome{Action: &hook.Text{Text: Accept}}, nil
			},
		}
		c, _ := open(t, o, questionServer(t, &sdk.ElicitParams{Mode: ModeURL, Message: "?", URL: to, ElicitationID: "e"}))
		useLegacyProtocol(c)
		got := text(call(t, lookup(t, c, "mcp__a__ask"), "{}"))
		if !strings.HasPrefix(got, want) || want != "error" && seen != to {
			t.Errorf("%s: got %q, asked about %q", to, got, seen)
		}
	}
}

// In the newer form a call is made again with the answer.
func TestElicitationOverRounds(t *testing.T) {
	s := newServer()
	s.AddTool(&sdk.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r, ok := req.Params.InputResponses["q"].(*sdk.ElicitResult); ok {
			return textResult(fmt.Sprint(r.Action, r.Content["user"])), nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(form)}}}, nil
	})
	c, _ := open(t, &Options{Elicit: func(context.Context, Elicitation) (Answer, error) {
		return Answer{Action: Accept, Content: json.RawMessage(`{"user":"ann"}`)}, nil
	}}, inProcessServer(t, "a", s))
	if got := text(call(t, lookup(t, c, "mcp__a__ask"), "{}")); got != "accept ann" && got != "acceptann" {
		t.Errorf("got %q", got)
	}
}

// A server that asks and asks is stopped.
func TestTooManyQuestions(t *testing.T) {
	s := newServer()
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		n := 0
		for range 20 {
			if _, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(form)}); err == nil {
				n++
			}
		}
		return textResult(fmt.Sprint(n)), nil, nil
	})
	c, _ := open(t, &Options{Elicit: func(context.Context, Elicitation) (Answer, error) { return Answer{Action: Decline}, nil }}, inProcessServer(t, "a", s))
	useLegacyProtocol(c)
	if got := text(call(t, lookup(t, c, "mcp__a__ask"), "{}")); got != fmt.Sprint(maxCallQuestions) {
		t.Errorf("got %s answers", got)
	}
}

func TestResources(t *testing.T) {
	s := newServer()
	s.AddResource(&sdk.Resource{URI: "db://rows", Name: "rows", MIMEType: "text/plain"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "1,2"}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "db://{t}", Name: "table"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, sdk.ResourceNotFoundError("db://x")
	})
	s.AddPrompt(&sdk.Prompt{Name: "hello", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}}, nil)
	c, _ := open(t, nil, inProcessServer(t, "a", s), inProcessServer(t, "b", newServer()))
	if got := names(c.Tools(t.Context())); got != "mcp__a__die mcp__a__echo mcp__b__die mcp__b__echo ListMcpResources ReadMcpResource" {
		t.Errorf("got %q", got)
	}
	list, read := lookup(t, c, ListResources), lookup(t, c, ReadResource)
	if got := text(call(t, list, "{}")); got != "a:\n- db://rows, rows, text/plain\n- db://{t}, table (replace the parts in braces)" {
		t.Errorf("got %q", got)
	}
	if got := text(call(t, read, `{"server":"a","uri":"db://rows"}`)); got != "[resource db://rows]\n1,2" {
		t.Errorf("got %q", got)
	}
	if r := call(t, read, `{"server":"a","uri":"db://none"}`); !r.IsError {
		t.Errorf("got %q", text(r))
	}
	if list.Spec().ReadOnly || read.Spec().ReadOnly {
		t.Error("reading from a server is not read-only: it hears what is asked")
	}
	reqs, err := read.Requests(&tool.Call{Input: json.RawMessage(`{"server":"a","uri":"db://rows"}`)})
	if err != nil || len(reqs) != 1 {
		t.Fatal(reqs, err)
	}
	for rule, want := range map[string]policy.Effect{"mcp__a": policy.Deny, "ReadMcpResource": policy.Deny, "ReadMcpResource(server:a)": policy.Deny, "mcp__b": ""} {
		rules, _, err := policy.RuleOptions{}.Compile([]policy.RuleSource{{Effect: policy.Deny, Text: rule}})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Evaluate(reqs[0]).Effect; got != want {
			t.Errorf("%s: %q", rule, got)
		}
	}
	if _, err := read.Requests(&tool.Call{Input: json.RawMessage(`{"server":"b","uri":"x"}`)}); err == nil {
		t.Error("a server without resources was taken")
	}
	prompts, err := c.Prompts(t.Context(), "a")
	if err != nil || len(prompts) != 1 || prompts[0].Name != "hello" || !prompts[0].Arguments[0].Required {
		t.Errorf("prompts %+v, %v", prompts, err)
	}
}
