package routes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// schemas generates JSON Schemas of Go types. The schema of a struct gets a name, and other schemas
// refer to it by that name.
type schemas struct {
	named   map[string]*jsonschema.Schema
	options *jsonschema.ForOptions
}

func newSchemas() *schemas {
	enum := func(list ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: list} }
	return &schemas{named: map[string]*jsonschema.Schema{}, options: &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		rawType:                              {Description: "any JSON"},
		reflect.TypeFor[[]byte]():            {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[time.Time]():         {Type: "string", Format: "date-time"},
		reflect.TypeFor[session.Digest]():    {Type: "string", Description: "SHA-256, 64 hexadecimal digits"},
		reflect.TypeFor[api.ApprovalState](): enum(toAny(approvalStates())...),
		reflect.TypeFor[approval.Decision](): enum(
			string(approval.Allow), string(approval.Deny), string(approval.AllowSession), string(approval.DenySession),
		),
		reflect.TypeFor[api.Scope]():     enum(toAny(Scopes())...),
		reflect.TypeFor[api.RunStatus](): enum(toAny(runStatuses())...),
		reflect.TypeFor[policy.Mode]():   enum(toAny(policy.Modes())...),
		reflect.TypeFor[policy.Effect](): enum("", "allow", "deny", "ask"),
		reflect.TypeFor[session.Kind]():  enum(toAny(record.Kinds())...),
	}}}
}

func toAny[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// schemaOf returns the schema of a value's type, as a reference if it has a name.
func (s *schemas) schemaOf(v any) (*jsonschema.Schema, error) {
	t := reflect.TypeOf(v)
	if t == rawType {
		return &jsonschema.Schema{Type: "object", Description: "the output of the command with --json"}, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("cannot describe the type %s as JSON Schema", t)
	}
	if items, ok := t.FieldByName("Items"); ok && strings.Contains(t.Name(), "[") {
		return s.list(items.Type.Elem())
	}
	name := schemaName(t)
	if s.named[name] == nil {
		made, err := jsonschema.ForType(t, s.options)
		if err != nil {
			return nil, fmt.Errorf("JSON Schema of %s: %w", t, err)
		}
		nonNullLists(made)
		s.named[name] = made
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}, nil
}

// list returns the schema of one page of a list.
func (s *schemas) list(of reflect.Type) (*jsonschema.Schema, error) {
	items, err := s.schemaOf(reflect.Zero(of).Interface())
	if err != nil {
		return nil, err
	}
	return &jsonschema.Schema{
		Type: "object", Required: []string{"items"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"items":       {Type: "array", Items: items},
			"next_cursor": {Type: "string", Description: "omitted on the last page"},
		},
	}, nil
}

func schemaName(t reflect.Type) string {
	r := []rune(t.Name())
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// nonNullLists removes "null" from the types of lists, and from the types of fields that are
// omitted when they are nil.
func nonNullLists(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "array") {
		dropNull(s)
	}
	nonNullLists(s.Items)
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			dropNull(p)
		}
		nonNullLists(p)
	}
	nonNullLists(s.AdditionalProperties)
}

func dropNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}
