package tool

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaText is [jsonschema.Schema.MarshalJSON] for the keywords that tools use, in a tenth
// of its time: a run writes some twenty schemas before it can ask a model anything. A schema
// with another keyword goes to the library.
func schemaText(s *jsonschema.Schema) (json.RawMessage, error) {
	return appendSchema(nil, s)
}

func appendSchema(b []byte, s *jsonschema.Schema) ([]byte, error) {
	switch {
	case s == nil:
		return append(b, "null"...), nil
	case reflect.ValueOf(s).Elem().IsZero():
		return append(b, "true"...), nil
	case s.Not != nil && isFalse(*s):
		return append(b, "false"...), nil
	case !isPlain(*s):
		text, err := json.Marshal(s)
		return append(b, text...), err
	}
	w := schemaWriter{b: append(b, '{')}
	if s.Type != "" {
		w.value("type", s.Type)
	} else if s.Types != nil {
		w.value("type", s.Types)
	}
	if s.Properties != nil {
		w.properties(s)
	}
	w.schema("items", s.Items)
	if s.Description != "" {
		w.value("description", s.Description)
	}
	if len(s.Enum) > 0 {
		w.value("enum", s.Enum)
	}
	number(&w, "minimum", s.Minimum)
	number(&w, "maximum", s.Maximum)
	number(&w, "minLength", s.MinLength)
	number(&w, "maxLength", s.MaxLength)
	number(&w, "minItems", s.MinItems)
	number(&w, "maxItems", s.MaxItems)
	if len(s.Required) > 0 {
		w.value("required", s.Required)
	}
	w.schema("additionalProperties", s.AdditionalProperties)
	return append(w.b, '}'), w.err
}

// isFalse reports whether s allows nothing and says no more.
func isFalse(s jsonschema.Schema) bool {
	not := s.Not
	s.Not = nil
	return reflect.ValueOf(not).Elem().IsZero() && reflect.ValueOf(&s).Elem().IsZero()
}

// isPlain reports whether appendSchema writes all keywords of s.
func isPlain(s jsonschema.Schema) bool {
	if s.Type != "" && s.Types != nil {
		return false // the library says what is wrong
	}
	s.Type, s.Types, s.Items, s.Description, s.Enum = "", nil, nil, "", nil
	s.Minimum, s.Maximum, s.MinLength, s.MaxLength, s.MinItems, s.MaxItems = nil, nil, nil, nil, nil, nil
	s.Properties, s.PropertyOrder, s.Required, s.AdditionalProperties = nil, nil, nil, nil
	return reflect.ValueOf(&s).Elem().IsZero()
}

// schemaWriter writes the members of an object.
type schemaWriter struct {
	b   []byte
	err error
}

func (w *schemaWriter) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.text(name)
	w.b = append(w.b, ':')
}

func (w *schemaWriter) text(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.err = err
	}
	w.b = append(w.b, text...)
}

func (w *schemaWriter) value(name string, v any) {
	w.name(name)
	w.text(v)
}

func number[N int | float64](w *schemaWriter, name string, n *N) {
	if n != nil {
		w.value(name, *n)
	}
}

func (w *schemaWriter) schema(name string, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	w.name(name)
	var err error
	if w.b, err = appendSchema(w.b, s); err != nil {
		w.err = err
	}
}

// properties are in their order, and those without one behind them by name.
func (w *schemaWriter) properties(s *jsonschema.Schema) {
	w.name("properties")
	w.b = append(w.b, '{')
	for _, name := range s.PropertyOrder {
		w.schema(name, s.Properties[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.PropertyOrder, name) {
			w.schema(name, s.Properties[name])
		}
	}
	w.b = append(w.b, '}')
}
