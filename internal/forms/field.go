package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Field is one field of a form.
type Field struct {
	Name, Title, Description string
	Type                     string // string, number, integer, boolean, choice (one of Options) or choices (several of them)
	Format                   string // format of a string: email, uri, date, date-time
	Options                  []FieldOption
	Default                  json.RawMessage
	Required                 bool
	// Secret is true if the field looks like a password or a key, which a form must not ask for.
	// The value of such a field must not be stored.
	Secret bool

	schema json.RawMessage
}

// FieldOption is one of the values of a field.
type FieldOption struct{ Value, Title string }

// property is a field in a schema.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []constant      `json:"oneOf"`
	Items       *struct {
		Enum  []string   `json:"enum"`
		AnyOf []constant `json:"anyOf"`
	} `json:"items"`
}

type constant struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// Fields returns the fields of the form's schema, sorted by name. The error explains why the form
// cannot be used.
func (f *Form) Fields() ([]Field, error) {
	schema := f.Schema
	if len(schema) > maxFormSchema {
		return nil, errors.New("the form's schema is too large")
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, errors.New("the form's schema is not valid JSON")
	}
	if len(s.Properties) > maxFormFields {
		return nil, fmt.Errorf("the form's schema has more than %d fields", maxFormFields)
	}
	if _, err := resolve(schema); err != nil {
		return nil, err
	}
	list := []Field{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f, err := newField(name, s.Properties[name])
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(s.Required, name)
		list = append(list, f)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return nil, fmt.Errorf("the form's schema requires %.80q, which it does not define", name)
		}
	}
	return list, nil
}

func newField(name string, schema json.RawMessage) (Field, error) {
	var p property
	err := json.Unmarshal(schema, &p)
	f := Field{Name: name, Title: p.Title, Description: p.Description, Type: p.Type, Format: p.Format, Default: p.Default, schema: schema}
	switch {
	case p.Items != nil:
		f.Type, f.Options = "choices", fieldOptions(p.Items.Enum, nil, p.Items.AnyOf)
	case len(p.Enum) > 0 || len(p.OneOf) > 0:
		f.Type, f.Options = "choice", fieldOptions(p.Enum, p.EnumNames, p.OneOf)
	}
	if err != nil || !slices.Contains([]string{"string", "number", "integer", "boolean", "choice", "choices"}, f.Type) {
		return f, fmt.Errorf("the form's field %.80q has an unsupported type", name)
	}
	f.Secret = f.Type == "string" && looksSecret(name, p.Title, p.Format)
	_, err = resolve(schema)
	return f, err
}

func fieldOptions(values, names []string, constants []constant) (list []FieldOption) {
	for i, v := range values {
		o := FieldOption{Value: v}
		if i < len(names) {
			o.Title = names[i]
		}
		list = append(list, o)
	}
	for _, k := range constants {
		list = append(list, FieldOption{Value: k.Const, Title: k.Title})
	}
	return list
}

// looksSecret reports whether a field seems to ask for a secret.
func looksSecret(texts ...string) bool {
	for _, t := range texts {
		t = strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r == ' ' || r == '.' {
				return -1
			}
			return r
		}, strings.ToLower(t))
		for _, word := range []string{"password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey", "privatekey", "credential", "pincode", "cvv", "otp"} {
			if strings.Contains(t, word) || t == "pin" || t == "key" {
				return true
			}
		}
	}
	return false
}

// Check returns an error that tells the user what is wrong with the value they entered, or nil.
func (f *Field) Check(value json.RawMessage) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return errors.New("want valid JSON")
	}
	text, isText := v.(string)
	number, isNumber := v.(float64)
	switch f.Type {
	case "string":
		if !isText {
			return errors.New("want a string")
		}
		if err := f.checkFormat(text); err != nil {
			return err
		}
	case "number", "integer":
		if !isNumber {
			return errors.New("want a number")
		}
		if f.Type == "integer" && number != math.Trunc(number) {
			return errors.New("want a whole number")
		}
	case "boolean":
		if v != true && v != false {
			return errors.New("want true or false")
		}
	case "choice":
		if !isText || !f.offers(text) {
			return errors.New("want one of " + f.offered())
		}
	case "choices":
		list, isList := v.([]any)
		if !isList || slices.ContainsFunc(list, func(one any) bool { text, ok := one.(string); return !ok || !f.offers(text) }) {
			return errors.New("want a list of some of " + f.offered())
		}
	}
	return validate(f.schema, value)
}

func (f *Field) offers(value string) bool {
	return slices.ContainsFunc(f.Options, func(o FieldOption) bool { return o.Value == value })
}

func (f *Field) offered() string {
	var list []string
	for _, o := range f.Options {
		list = append(list, fmt.Sprintf("%q", o.Value))
	}
	return strings.Join(list, ", ")
}

func (f *Field) checkFormat(text string) error {
	switch f.Format {
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return errors.New("want an e-mail address")
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return errors.New("want a URL such as https://example.com/")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return errors.New("want a date such as 2026-01-31")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return errors.New("want a date and time such as 2026-01-31T12:30:00Z")
		}
	}
	return nil
}

// resolve prepares a schema for checks; the error explains why it cannot be used.
func resolve(schema json.RawMessage) (*jsonschema.Resolved, error) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(schema, s); err != nil {
		return nil, fmt.Errorf("the form's schema cannot be read: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the form's schema cannot be used: %w", err)
	}
	return r, nil
}

// validate returns an error that says where a value does not match its schema, or nil.
func validate(schema, value json.RawMessage) error {
	r, err := resolve(schema)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if err := r.Validate(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}
