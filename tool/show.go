package tool

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// show writes a schema as [json.Marshal] does, byte for byte. What schemas that are
// inferred from types consist of it writes itself: a run's start shows some thirty, and
// the library takes ten times as long for each.
func show(s *jsonschema.Schema) ([]byte, error) {
	if b, ok := appendSchema(nil, s); ok {
		return b, nil
	}
	return json.Marshal(s)
}

// appendSchema appends a schema, or says that it has more to it than is known here.
func appendSchema(b []byte, s *jsonschema.Schema) (_ []byte, ok bool) {
	if s.Not != nil { // nothing fits
		return append(b, "false"...), reflect.ValueOf(*s.Not).IsZero() && reflect.DeepEqual(s, &jsonschema.Schema{Not: s.Not})
	}
	rest := *s
	rest.Type, rest.Description, rest.Items, rest.AdditionalProperties = "", "", nil, nil
	rest.Required, rest.Properties, rest.PropertyOrder = nil, nil, nil
	if s.Type == "" || !reflect.ValueOf(rest).IsZero() {
		return nil, false
	}
	b = appendJSON(append(b, `{"type":`...), s.Type)
	if s.Properties != nil {
		if b, ok = appendProperties(append(b, `,"properties":{`...), s); !ok {
			return nil, false
		}
	}
	if s.Items != nil {
		if b, ok = appendSchema(append(b, `,"items":`...), s.Items); !ok {
			return nil, false
		}
	}
	if s.Description != "" {
		b = appendJSON(append(b, `,"description":`...), s.Description)
	}
	if len(s.Required) > 0 {
		b = appendJSON(append(b, `,"required":`...), s.Required)
	}
	if s.AdditionalProperties != nil {
		if b, ok = appendSchema(append(b, `,"additionalProperties":`...), s.AdditionalProperties); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}

// appendProperties appends the properties in their order, which has to name each of them.
func appendProperties(b []byte, s *jsonschema.Schema) (_ []byte, ok bool) {
	if len(s.PropertyOrder) != len(s.Properties) {
		return nil, false
	}
	for i, name := range s.PropertyOrder {
		p := s.Properties[name]
		if p == nil {
			return nil, false
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendSchema(append(appendJSON(b, name), ':'), p); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}

// appendJSON appends a text or a list of texts.
func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts always have a form
	}
	return append(b, text...)
}
