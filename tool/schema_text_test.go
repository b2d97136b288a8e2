package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

// A schema is written as the library writes it, whatever is in it.
func TestSchemaText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema(3).Draw(t, "schema")
		want, wrong := json.Marshal(s)
		got, err := schemaText(s)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("error %v, of the library %v", err, wrong)
		}
		if err == nil && string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func anySchema(depth int) *rapid.Generator[*jsonschema.Schema] {
	return rapid.Custom(func(t *rapid.T) *jsonschema.Schema {
		s := &jsonschema.Schema{}
		has := func(what string) bool { return rapid.Bool().Draw(t, what) }
		words := rapid.SampledFrom([]string{"a", "b", "q\"<&>", "ü", "list"})
		number := func() *float64 { return rapid.Ptr(rapid.Float64Range(-9, 9), true).Draw(t, "number") }
		count := func() *int { return rapid.Ptr(rapid.IntRange(0, 9), true).Draw(t, "count") }
		if has("type") {
			s.Type = rapid.SampledFrom([]string{"", "object", "string"}).Draw(t, "type")
		}
		if has("types") {
			s.Types = []string{"null", "array"}
		}
		if has("description") {
			s.Description = words.Draw(t, "description")
		}
		if has("enum") {
			s.Enum = []any{words.Draw(t, "value"), 1.5, nil}
		}
		if has("numbers") {
			s.Minimum, s.Maximum = number(), number()
			s.MinLength, s.MaxLength, s.MinItems, s.MaxItems = count(), count(), count(), count()
		}
		if has("required") {
			s.Required = rapid.SliceOf(words).Draw(t, "required")
		}
		if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
			s.Pattern, s.Title = "x", words.Draw(t, "title")
		}
		if has("closed") {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
		if depth > 0 && has("items") {
			s.Items = anySchema(depth-1).Draw(t, "items")
		}
		if depth > 0 && has("properties") {
			s.Properties = rapid.MapOfN(words, anySchema(depth-1), 0, 4).Draw(t, "properties")
			s.PropertyOrder = rapid.SliceOfNDistinct(words, 0, 3, rapid.ID).Draw(t, "order")
		}
		return s
	})
}
