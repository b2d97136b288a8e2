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

// Form is an MCP server's request for information during a call: the input of a request with
// policy.Request.Form set. The answer is the same object, with Content as the user filled it in.
type Form struct {
	Server  string          `json:"server"` // the name of the MCP server
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // of Content, in MCP's form: an object of simple values
	Content json.RawMessage `json:"content"`         // by field; in a request, the proposed values
}

// Limits of a form, in bytes.
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

// Open returns the required fields without a proposed value.
func (f *Form) Open() (names []string) {
	fields, _ := f.Fields() // for an invalid schema the fields are unknown
	var proposed map[string]json.RawMessage
	_ = json.Unmarshal(f.Content, &proposed)
	for _, field := range fields {
		if field.Required && proposed[field.Name] == nil {
			names = append(names, field.Name)
		}
	}
	return names
}

// FormOf returns the form in the input of a request; nil if there is none.
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

// ReadForm reads the user's values from the requested input and the answer's input; without an
// answer they are the proposed values. The error names invalid fields.
func ReadForm(asked, given json.RawMessage) (content json.RawMessage, err error) {
	var f Form
	if err := json.Unmarshal(asked, &f); err != nil {
		return nil, err
	}
	content = f.Content
	if len(given) > 0 {
		said, err := personInput(asked, given, "content")
		if err != nil {
			return nil, err
		}
		if content = said; said == nil {
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
	var said map[string]json.RawMessage
	if err := json.Unmarshal(content, &said); err != nil || said == nil {
		return nil, errors.New("the content must be an object of fields and values")
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !slices.ContainsFunc(fields, func(field Field) bool { return field.Name == name }) {
			wrong = append(wrong, fmt.Sprintf("the form has no field %q", name))
		}
		if bytes.Equal(said[name], []byte("null")) {
			delete(said, name)
		}
	}
	for _, field := range fields {
		value, there := said[field.Name]
		switch {
		case there:
			if err := field.Check(value); err != nil {
				wrong = append(wrong, fmt.Sprintf("%q: %v", field.Name, err))
			}
		case field.Required:
			wrong = append(wrong, fmt.Sprintf("field %q is required", field.Name))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	content, err = json.Marshal(said)
	if err != nil {
		return nil, err
	}
	return content, fits(f.Schema, content)
}

// personInput returns the member of an input that the user added or changed; nil if there is none.
// All other members must be unchanged, or missing.
func personInput(asked, given json.RawMessage, name string) (json.RawMessage, error) {
	var was, now map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(asked, &was), json.Unmarshal(given, &now)); err != nil {
		return nil, err
	}
	said := now[name]
	delete(now, name)
	for other, v := range now {
		if !equalJSON(was[other], v) {
			return nil, fmt.Errorf("only %q may differ from the requested input", name)
		}
	}
	return said, nil
}

// equalJSON compares the values of two JSON texts.
func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
