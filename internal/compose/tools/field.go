package tools

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/forms"
)

// FieldText describes a field on one line: "seat: where you sit (text, required)".
func FieldText(f *forms.Field) string {
	text := f.Name
	if f.Title != "" && f.Title != f.Name {
		text += ", " + f.Title
	}
	if f.Description != "" {
		text += ": " + f.Description
	}
	more := []string{cmp.Or(map[string]string{"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "yes or no", "choice": "one of", "choices": "several of"}[f.Type], f.Type)}
	if len(f.Options) > 0 {
		more[0] += " " + strconv.Itoa(len(f.Options))
	}
	if f.Format != "" {
		more[0] = "a text, " + f.Format
	}
	if f.Required {
		more = append(more, "required")
	}
	if f.Default != nil {
		more = append(more, "default "+ValueText(f, f.Default))
	}
	if f.Secret {
		more = append(more, "LOOKS LIKE A SECRET: a server should not ask for one")
	}
	return text + " (" + strings.Join(more, ", ") + ")"
}

// ValueText returns a value as the user would write it.
func ValueText(f *forms.Field, value json.RawMessage) string {
	var one string
	var some []string
	switch {
	case f.Type == "boolean":
		return map[string]string{"true": "yes", "false": "no"}[string(value)]
	case json.Unmarshal(value, &one) == nil:
		return one
	case json.Unmarshal(value, &some) == nil:
		return strings.Join(some, ", ")
	}
	return string(value)
}
