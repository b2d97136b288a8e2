package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// decoder parses settings from JSON.
type decoder struct {
	setBy map[string]string // for each setting, the field that set it: a block may use Claude Code's name or the Open Agent SDK's
}

// value is the JSON value of a field.
type value struct {
	*jsontree.Node
	field string
	key   int // offset of the field's name, in bytes
}

// reader decodes a value. The error says what is wrong with the value.
type reader func(v value) error

// fields maps the names of an object's fields to their readers.
type fields map[string]reader

// entryCheck checks one entry of a list. It returns what is wrong with the entry, or "".
type entryCheck func(text string) (what, hint string)

func checkAnything(string) (what, hint string) { return "", "" }

func checkNotEmpty(text string) (what, hint string) {
	if text == "" {
		return `"" is empty`, "remove it"
	}
	return "", ""
}

// typeError reports a value of the wrong type.
func (v value) typeError(want string) error {
	hint := ""
	switch {
	case v.Kind == jsontree.Null && want == "a list":
		hint = "leave the field out, or write []"
	case v.Kind == jsontree.Null:
		hint = "leave the field out"
	case want == "a list":
		hint = `write ["…"]`
	}
	return &Error{Field: v.field, Offset: v.At, Detail: "want " + want + ", not " + v.Show(), hint: hint}
}

// optional treats null like a missing field.
func (*decoder) optional(read reader) reader {
	return func(v value) error {
		if v.Kind == jsontree.Null {
			return nil
		}
		return read(v)
	}
}

// object reads an object. It also accepts the fields in foreign, but hints do not list them.
func (d *decoder) object(v value, known fields, foreign ...fields) error {
	return d.members(v, func(name string, v value) error {
		read, ok := known[name]
		for _, more := range foreign {
			if !ok {
				read, ok = more[name]
			}
		}
		if !ok {
			return &Error{Field: v.field, Offset: v.key, Detail: "unknown setting", hint: spelling.Hint(name, slices.Sorted(maps.Keys(known)), "the settings are")}
		}
		return read(v)
	})
}

func (*decoder) members(v value, read func(name string, v value) error) error {
	if v.Kind != jsontree.Object {
		return v.typeError("an object")
	}
	for i := range v.Members {
		m := &v.Members[i]
		field := m.Key
		if v.field != "" {
			field = v.field + "." + m.Key
		}
		if err := read(m.Key, value{&m.Value, field, m.At}); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) list(into *[]string, check entryCheck) reader {
	return func(v value) error {
		if v.Kind != jsontree.List {
			return v.typeError("a list")
		}
		out := make([]string, len(v.Items))
		for i := range v.Items {
			item := value{&v.Items[i], fmt.Sprintf("%s[%d]", v.field, i), v.Items[i].At}
			if err := d.text(&out[i], check)(item); err != nil {
				return err
			}
		}
		*into = out
		return nil
	}
}

func (d *decoder) listPointer(into **[]string, check entryCheck) reader {
	return func(v value) error {
		var list []string
		err := d.list(&list, check)(v)
		*into = &list
		return err
	}
}

func (*decoder) text(into *string, check entryCheck) reader {
	return func(v value) error {
		if v.Kind != jsontree.Text {
			return v.typeError("a string")
		}
		if what, hint := check(v.Text); what != "" {
			return &Error{Field: v.field, Offset: v.At, Detail: what, hint: hint}
		}
		*into = v.Text
		return nil
	}
}

func (*decoder) flag(into *bool) reader {
	return func(v value) error {
		if v.Kind != jsontree.Bool {
			return v.typeError("true or false")
		}
		*into = v.Text == "true"
		return nil
	}
}

func (d *decoder) flagPointer(into **bool) reader {
	return func(v value) error {
		*into = new(bool)
		return d.flag(*into)(v)
	}
}

// once reads a field whose setting may be set only once, although several fields of the block can
// set it.
func (d *decoder) once(setting string, read reader) reader {
	return func(v value) error {
		if other, ok := d.setBy[setting]; ok {
			return &Error{Field: v.field, Offset: v.key, Detail: "it duplicates " + other, hint: "keep one of them"}
		}
		d.setBy[setting] = v.field
		return read(v)
	}
}

func (*decoder) port(into **int) reader {
	return func(v value) error {
		port, err := strconv.Atoi(v.Text)
		if v.Kind != jsontree.Number || err != nil || port < 1 || port > 65535 {
			return v.typeError("a port (1 to 65535)")
		}
		*into = &port
		return nil
	}
}
