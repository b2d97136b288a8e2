package runspec

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Parse reads a spec strictly: an unknown field, a duplicate key and anything after the object
// are errors. It does not call [Spec.Check].
func (s *Spec) Parse(b []byte) error {
	*s = Spec{}
	if err := jsontree.Decode(b, s); err != nil {
		if e, ok := errors.AsType[*jsontree.Error](err); ok {
			return &Error{Field: e.Path, Message: e.What}
		}
		return &Error{Message: err.Error()}
	}
	return nil
}

// JSONSchema returns the JSON Schema (2020-12) of specs, made from the Go types.
func (Spec) JSONSchema() json.RawMessage { return slices.Clone(schema()) }

var schema = sync.OnceValue(func() []byte {
	s, err := jsonschema.For[Spec](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err == nil {
		s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", "urn:holdfast:runspec:1", "A run of Holdfast"
		removeNull(s)
		var b []byte
		if b, err = json.Marshal(s); err == nil {
			return b
		}
	}
	panic("runspec: " + err.Error()) // cannot happen: the schema depends only on the types of this package
})

// removeNull removes "or null", which no field accepts.
func removeNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	removeNull(s.Items)
	for _, p := range s.Properties {
		removeNull(p)
	}
}
