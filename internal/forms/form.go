package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Form is a request for information that an MCP server sends during a call. It is the input of an
// approval request in which policy.Request.Form is set. The answer is the same object, in which
// Content has the values that the user entered.
type Form struct {
	Server  string          `json:"server"` // the name of the MCP server
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // the schema of Content, as MCP defines it: an object of simple values
	Content json.RawMessage `json:"content"`         // values keyed by field; in a request, the proposed values
}

// Limits of a form. Sizes are in bytes.
const (
	maxFormFields  = 64 // number of fields
	maxFormSchema  = 64 << 10
	maxFormContent = 64 << 10
)

// ProposeDefaults sets the content to the defaults of the fields. The error describes an invalid
// schema.
func (f *Form) ProposeDefaults() error {
	fields, err := f.Fields()
	if err != nil {
		return err
	}
	content := map[string]json.RawMessage{}
	for _, field := range fields {
		if field.Default != nil {
			content[field.Name] = field.Default
		}
	}
	f.Content, err = json.Marshal(content)
	return err
}

// MissingFields returns the required fields for which no value is proposed.
func (f *Form) MissingFields() (names []string) {
	fields, _ := f.Fields() // the fields of an invalid schema are unknown
	var proposed map[string]json.RawMessage
	_ = json.Unmarshal(f.Content, &proposed)
	for _, field := range fields {
		if field.Required && proposed[field.Name] == nil {
			names = append(names, field.Name)
		}
	}
	return names
}

// FormOf returns the form in the input of a request, or nil if it contains none.
func FormOf(input json.RawMessage) *Form {
	var f Form
	if json.Unmarshal(input, &f) != nil {
		return nil
	}
	return &f
}

// Input returns the input that answers the form with the given values.
func (*Form) Input(content map[string]json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(struct {
		Content map[string]json.RawMessage `json:"content"`
	}{content})
}

// ReadForm returns the user's values for the form in the requested input. They are in the answer's
// input; without an answer they are the proposed values. The error names invalid fields.
func ReadForm(requested, answer json.RawMessage) (content json.RawMessage, err error) {
	var f Form
	if err := json.Unmarshal(requested, &f); err != nil {
		return nil, err
	}
	content = f.Content
	if len(answer) > 0 {
		entered, err := changedMember(requested, answer, "content")
		if err != nil {
			return nil, err
		}
		if content = entered; entered == nil {
			return nil, errors.New(`the content is missing; want {"content": {"field name": "value"}}`)
		}
	}
	if len(content) > maxFormContent {
		return nil, fmt.Errorf("the content has %d bytes, more than the limit of %d", len(content), maxFormContent)
	}
	return f.read(content)
}

// read returns the content without empty fields; the error describes an invalid value.
func (f *Form) read(content json.RawMessage) (json.RawMessage, error) {
	fields, err := f.Fields()
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(content, &values); err != nil || values == nil {
		return nil, errors.New("the content must be an object of fields and values")
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(fields, func(field Field) bool { return field.Name == name }) {
			problems = append(problems, fmt.Sprintf("the form has no field %q", name))
		}
		if bytes.Equal(values[name], []byte("null")) {
			delete(values, name)
		}
	}
	for _, field := range fields {
		value, exists := values[field.Name]
		switch {
		case exists:
			if err := field.Check(value); err != nil {
				problems = append(problems, fmt.Sprintf("%q: %v", field.Name, err))
			}
		case field.Required:
			problems = append(problems, fmt.Sprintf("field %q is required", field.Name))
		}
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	content, err = json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return content, validate(f.Schema, content)
}

// changedMember returns the member of an input that the user added or changed; it returns nil if
// there is none. All other members must be missing or unchanged.
func changedMember(requested, answer json.RawMessage, name string) (json.RawMessage, error) {
	var was, now map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(requested, &was), json.Unmarshal(answer, &now)); err != nil {
		return nil, err
	}
	value := now[name]
	delete(now, name)
	for other, v := range now {
		if !equalJSON(was[other], v) {
			return nil, fmt.Errorf("only %q may differ from the requested input", name)
		}
	}
	return value, nil
}

// equalJSON compares the values of two JSON texts.
func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
