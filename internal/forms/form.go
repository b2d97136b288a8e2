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

// Form is what a program wants to know of a person while it works on a call: the input of
// a request that has policy.Request.Form. The yes brings the same object, with Content
// as the person has filled it in.
type Form struct {
	Server  string          `json:"server"` // who asks
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"` // of the content, as MCP has it: an object of values without parts
	Content json.RawMessage `json:"content"`         // by field; in a question what is proposed
}

// Bounds of a form, in bytes.
const (
	maxFormFields  = 64 // how many
	maxFormSchema  = 64 << 10
	maxFormContent = 64 << 10
)

// ProposeDefaults makes the defaults of the fields the content. The error says what is
// wrong with the schema.
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

// Open are the fields that are needed and for which nothing is proposed.
func (f *Form) Open() (names []string) {
	fields, _ := f.Fields() // of one that cannot be read nothing is known
	var proposed map[string]json.RawMessage
	_ = json.Unmarshal(f.Content, &proposed)
	for _, field := range fields {
		if field.Required && proposed[field.Name] == nil {
			names = append(names, field.Name)
		}
	}
	return names
}

// FormOf is the form in the input of a request; nil when it is none.
func FormOf(input json.RawMessage) *Form {
	var f Form
	if json.Unmarshal(input, &f) != nil {
		return nil
	}
	return &f
}

// Input is the input of a yes to the form: what its fields are to be.
func (*Form) Input(content map[string]json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(struct {
		Content map[string]json.RawMessage `json:"content"`
	}{content})
}

// ReadForm reads what a person has filled in out of the input that was asked about and the
// one that he has given; without one it is what was proposed. The error says which fields
// do not fit.
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
			return nil, errors.New(`the content is missing: {"content": {"name of a field": "its value"}}`)
		}
	}
	if len(content) > maxFormContent {
		return nil, fmt.Errorf("a content of %d bytes, at most %d fit", len(content), maxFormContent)
	}
	return f.read(content)
}

// read is content without what is left out; the error says what does not fit.
func (f *Form) read(content json.RawMessage) (json.RawMessage, error) {
	fields, err := f.Fields()
	if err != nil {
		return nil, err
	}
	var said map[string]json.RawMessage
	if err := json.Unmarshal(content, &said); err != nil || said == nil {
		return nil, errors.New("the content is not an object of fields and their values")
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !slices.ContainsFunc(fields, func(field Field) bool { return field.Name == name }) {
			wrong = append(wrong, fmt.Sprintf("%q was not asked", name))
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
			wrong = append(wrong, fmt.Sprintf("%q is needed", field.Name))
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

// personInput is the member of an input, by name, that a person has put there or changed; nil:
// there is none. All else must be what was asked, or left out.
func personInput(asked, given json.RawMessage, name string) (json.RawMessage, error) {
	var was, now map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(asked, &was), json.Unmarshal(given, &now)); err != nil {
		return nil, err
	}
	said := now[name]
	delete(now, name)
	for other, v := range now {
		if !equalJSON(was[other], v) {
			return nil, fmt.Errorf("beside %q the input must be what was asked", name)
		}
	}
	return said, nil
}

// equalJSON compares what two texts say.
func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
