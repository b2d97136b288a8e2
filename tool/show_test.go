package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

type shown struct {
	Text  string `json:"text" jsonschema:"a <text> & \"more\""`
	Count int    `json:"count,omitempty"`
	List  []struct {
		Name string   `json:"name"`
		Tags []string `json:"tags,omitempty"`
	} `json:"list,omitempty" jsonschema:"things"`
	Any   any               `json:"any,omitempty"`
	Pairs map[string]string `json:"pairs,omitempty"`
	Maybe *bool             `json:"maybe,omitempty"`
	Size  uint8             `json:"size,omitempty"`
	Share float64           `json:"share"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
}

// What is written here is what the library writes.
func TestShow(t *testing.T) {
	inferred, err := jsonschema.For[shown](nil)
	if err != nil {
		t.Fatal(err)
	}
	tightened, err := jsonschema.For[shown](nil)
	if err != nil {
		t.Fatal(err)
	}
	tighten(tightened)
	low := 1.0
	object := func(name string, p *jsonschema.Schema, order ...string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{name: p}, PropertyOrder: order}
	}
	text := &jsonschema.Schema{Type: "string"}
	for name, s := range map[string]*jsonschema.Schema{
		"inferred": inferred, "tightened": tightened, "nothing": {}, "never": {Not: &jsonschema.Schema{}},
		"not a text": {Not: &jsonschema.Schema{Type: "string"}}, "not, and more": {Not: &jsonschema.Schema{}, Type: "string"},
		"bound": {Type: "number", Minimum: &low}, "types": {Types: []string{"null", "string"}},
		"no properties": {Type: "object", Properties: map[string]*jsonschema.Schema{}}, "nothing required": {Type: "object", Required: []string{}},
		"in order": object("a", text, "a"), "without order": object("a", text), "another order": object("a", text, "b"), "nested": object("a", tightened, "a"),
		"with extra": {Type: "object", Extra: map[string]any{"x": 1}}, "default": {Type: "string", Default: json.RawMessage(`"a"`)},
	} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := show(s)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %s %v, want %s", name, got, err, want)
		}
	}
	if _, ok := appendSchema(nil, object("a", text, "a")); !ok {
		t.Error("a plain object is left to the library")
	}
}

func BenchmarkShow(b *testing.B) {
	s, err := jsonschema.For[agentLike](nil)
	if err != nil {
		b.Fatal(err)
	}
	tighten(s)
	for name, f := range map[string]func(*jsonschema.Schema) ([]byte, error){
		"own": show, "library": func(s *jsonschema.Schema) ([]byte, error) { return json.Marshal(s) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// agentLike is an input as tools have it.
type agentLike struct {
	Description string   `json:"description" jsonschema:"The task in three to five words"`
	Prompt      string   `json:"prompt" jsonschema:"The task, with all that is needed to do it"`
	Kinds       []string `json:"kinds,omitempty" jsonschema:"Which kinds of sub-agents may work on it"`
	Background  bool     `json:"run_in_background,omitempty" jsonschema:"Go on meanwhile"`
	Timeout     int64    `json:"timeout,omitempty" jsonschema:"How long to wait, in milliseconds"`
}
