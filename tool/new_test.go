package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type input struct {
	Path   string `json:"file_path" jsonschema:"the file"`
	Limit  int    `json:"limit,omitempty"`
	Loud   bool   `json:"loud,omitempty"`
	Pieces []struct {
		Old string `json:"old"`
	} `json:"pieces,omitempty"`
}

func textOf(r tool.Result) string { return transcript.ToolResult{Content: r.Content}.Text() }

func echo(_ context.Context, _ *tool.Call, in input) (tool.Result, error) {
	return tool.Text(fmt.Sprintf("%+v", in)), nil
}

func newEcho(t *testing.T) tool.Tool {
	t.Helper()
	made, err := tool.New(tool.Spec{Name: "Echo", Description: "says it"}, echo, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestNewChecksEveryInput(t *testing.T) {
	made := newEcho(t)
	for _, tt := range []struct{ name, in, want string }{
		{"plain", `{"file_path":"a"}`, "{Path:a Limit:0 Loud:false Pieces:[]}"},
		{"a float that is an integer", `{"file_path":"a","limit":5.0}`, "{Path:a Limit:5 Loud:false Pieces:[]}"},
		{"an exponent that is an integer", `{"file_path":"a","limit":5e2}`, "{Path:a Limit:500 Loud:false Pieces:[]}"},
		{"the largest integer", `{"file_path":"a","limit":9007199254740992}`, "{Path:a Limit:9007199254740992 Loud:false Pieces:[]}"},
		{"null is absent", `{"file_path":"a","limit":null}`, "{Path:a Limit:0 Loud:false Pieces:[]}"},
		{"nested", `{"file_path":"a","pieces":[{"old":"x"}]}`, "{Path:a Limit:0 Loud:false Pieces:[{Old:x}]}"},

		{"missing", `{}`, `Failed to decode input: missing ["file_path"]`},
		{"required null", `{"file_path":null}`, `Failed to decode input: file_path: has type "null", want "string"`},
		{"unknown", `{"file_path":"a","stray":1}`, `Failed to decode input: unknown fields ["stray"]`},
		{"other case", `{"FILE_PATH":"a"}`, `Failed to decode input: unknown fields ["FILE_PATH"]`},
		{"twice", `{"file_path":"a","file_path":"b"}`, `Failed to decode input: duplicate field "file_path"`},
		{"string for number", `{"file_path":"a","limit":"5"}`, `Failed to decode input: limit: 5 has type "string", want "integer"`},
		{"number for string", `{"file_path":5}`, `Failed to decode input: file_path: 5 has type "integer", want "string"`},
		{"fraction", `{"file_path":"a","limit":5.5}`, `Failed to decode input: limit: 5.5 has type "number"`},
		{"beyond 2^53", `{"file_path":"a","limit":9007199254740993}`, `Failed to decode input: limit: 9007199254740993 is larger than 2^53`},
		{"huge exponent", `{"file_path":"a","limit":1e999999999}`, `Failed to decode input: limit: invalid number 1e999999999`},
		{"nested field", `{"file_path":"a","pieces":[{"old":1}]}`, `Failed to decode input: pieces[].old: 1 has type`},
		{"broken JSON kept as a string", `"{\"file_path\": \"a"`, `Failed to decode input: want a JSON object, got a string (is the JSON broken?)`},
		{"array", `[]`, `Failed to decode input: want a JSON object, got an array`},
		{"null", `null`, `Failed to decode input: want a JSON object, got null`},
		{"cut", `{"file_path":"a`, `Failed to decode input: the JSON is incomplete`},
		{"empty", ``, `Failed to decode input: the JSON is incomplete`},
		{"two values", `{"file_path":"a"} {}`, `Failed to decode input: more than one JSON value`},
		{"deep", strings.Repeat("[", 100000), `Failed to decode input: nested deeper than 64`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := &tool.Call{ID: "1", Input: json.RawMessage(tt.in)}
			got, err := made.Run(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			wrong := strings.HasPrefix(tt.want, "Failed")
			if got.IsError != wrong || !strings.HasPrefix(textOf(got), tt.want) {
				t.Errorf("got %q, error %v; want %q", textOf(got), got.IsError, tt.want)
			}
			_, err = made.Requests(call)
			if (err != nil && strings.HasPrefix(err.Error(), "Failed to decode input: ")) != wrong {
				t.Errorf("Requests: %v", err)
			}
		})
	}
}

func TestNewInfersASchema(t *testing.T) {
	got := string(newEcho(t).Spec().Input)
	want := `{"type":"object","properties":{"file_path":{"type":"string","description":"the file"},"limit":{"type":"integer"},"loud":{"type":"boolean"},` +
		`"pieces":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},"required":["old"],"additionalProperties":false}}},` +
		`"required":["file_path"],"additionalProperties":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNewTakesAGivenSchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`)
	made, err := tool.New(tool.Spec{Name: "remote", Input: schema},
		func(_ context.Context, _ *tool.Call, in map[string]any) (tool.Result, error) {
			return tool.Text(fmt.Sprint(in)), nil
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(made.Spec().Input) != string(schema) {
		t.Errorf("schema was changed: %s", made.Spec().Input)
	}
	for in, want := range map[string]bool{`{"n":3,"more":true}`: false, `{"n":2}`: true} {
		got, err := made.Run(t.Context(), &tool.Call{Input: json.RawMessage(in)})
		if err != nil || got.IsError != want {
			t.Errorf("%s: %v, %v", in, textOf(got), err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	type loop struct {
		Next *loop `json:"next"`
	}
	run := func(context.Context, *tool.Call, loop) (tool.Result, error) { return tool.Result{}, nil }
	if _, err := tool.New(tool.Spec{Name: "Loop"}, run, nil); err == nil {
		t.Error("a type without a schema was taken")
	}
	if _, err := tool.New(tool.Spec{Name: "two words"}, echo, nil); err == nil {
		t.Error("a name with a space was taken")
	}
	if _, err := tool.New[input](tool.Spec{Name: "Empty"}, nil, nil); err == nil {
		t.Error("a tool without a function was taken")
	}
	if _, err := tool.New(tool.Spec{Name: "List", Input: json.RawMessage(`{"type":"array"}`)}, echo, nil); err == nil {
		t.Error("a schema that is no object was taken")
	}
}

func TestRequestsAreFilledIn(t *testing.T) {
	call := &tool.Call{ID: "1", Session: "s", Input: json.RawMessage(`{"file_path":"a"}`)}
	want := policy.Request{Session: "s", Tool: "Echo", Resource: "Echo", Input: call.Input}
	got, err := newEcho(t).Requests(call)
	if err != nil || len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("without a function: %+v, %v", got, err)
	}
	made, err := tool.New(tool.Spec{Name: "Look", ReadOnly: true}, echo, func(_ *tool.Call, in input) ([]policy.Request, error) {
		return []policy.Request{{Operation: policy.OpRead, Resource: "/w/" + in.Path}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want = policy.Request{Session: "s", Tool: "Look", Operation: policy.OpRead, Resource: "/w/a", Input: call.Input, ReadOnly: true}
	if got, err = made.Requests(call); err != nil || len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("with a function: %+v, %v", got, err)
	}
}

// A decoder must never panic, and what it accepts must be what the schema says.
func FuzzInput(f *testing.F) {
	for _, s := range []string{`{"file_path":"a"}`, `{"file_path":"a","limit":1e3}`, `"`, `{"file_path":"a","pieces":[{"old":""}]}`, `[[[`} {
		f.Add(s)
	}
	made, err := tool.New(tool.Spec{Name: "Echo"}, echo, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := made.Run(t.Context(), &tool.Call{Input: json.RawMessage(s)})
		if err != nil {
			t.Fatal(err)
		}
		if got.IsError != strings.HasPrefix(textOf(got), "Failed to decode input: ") {
			t.Errorf("%q: %q", s, textOf(got))
		}
		if !got.IsError && !json.Valid([]byte(s)) {
			t.Errorf("%q was taken", s)
		}
	})
}

func BenchmarkInput(b *testing.B) {
	made, err := tool.New(tool.Spec{Name: "Echo"}, func(context.Context, *tool.Call, input) (tool.Result, error) {
		return tool.Result{}, nil
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	call := &tool.Call{Input: json.RawMessage(`{"file_path":"internal/server/handler.go","limit":200}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := made.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleNew() {
	type greeting struct {
		Name string `json:"name" jsonschema:"whom to greet"`
	}
	greet, err := tool.New(tool.Spec{Name: "Greet", Description: "Greets someone."},
		func(_ context.Context, _ *tool.Call, in greeting) (tool.Result, error) {
			return tool.Text("hello " + in.Name), nil
		}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range []string{`{"name":"Ada"}`, `{"nam":"Ada"}`} {
		r, _ := greet.Run(context.Background(), &tool.Call{ID: "1", Tool: "Greet", Input: json.RawMessage(in)})
		fmt.Println(textOf(r))
	}
	// Output:
	// hello Ada
	// Failed to decode input: unknown fields ["nam"]
}
