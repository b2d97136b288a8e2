package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder reads the tokens of a document one by one, so that nothing in it is
// passed over.
type decoder struct {
	source []byte
	dec    *json.Decoder
	peeked bool
	token  json.Token
	at     int
	said   map[string]string // what a setting was said by: a block may use Claude Code's name or ours
}

// fields maps the names of an object's fields to what reads them.
type fields map[string]func(field string) error

// entry judges one entry of a list: what is wrong with it, or "".
type entry func(text string) (what, hint string)

func checkAnything(string) (what, hint string) { return "", "" }

func checkNotEmpty(text string) (what, hint string) {
	if text == "" {
		return `"" is empty`, "take it out"
	}
	return "", ""
}

// offset is where the next token begins.
func (d *decoder) offset() int {
	if d.peeked {
		return d.at
	}
	at := int(d.dec.InputOffset())
	for at < len(d.source) && strings.IndexByte(" \t\r\n,:", d.source[at]) >= 0 {
		at++
	}
	return at
}

func (d *decoder) next(field string) (json.Token, error) {
	if d.peeked {
		d.peeked = false
		return d.token, nil
	}
	d.at = d.offset()
	t, err := d.dec.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &Error{Field: field, Offset: d.at, What: "not JSON: it ends too early", hint: "write {} when nothing is to be set"}
	case err != nil:
		return nil, &Error{Field: field, Offset: d.at, What: "not JSON: " + err.Error()}
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
		return nil, &Error{Field: field, Offset: d.at, What: "the text holds half a character (U+FFFD)", hint: "write the character itself"}
	}
	return t, nil
}

func (d *decoder) wrong(field string, t json.Token, want string) error {
	var got, hint string
	switch t := t.(type) {
	case nil:
		got, hint = "null", "leave the field out"
		if want == "a list" {
			hint = "leave the field out, or write []"
		}
	case string:
		got = strconv.Quote(t)
	default:
		got = fmt.Sprint(t)
	}
	if want == "a list" && hint == "" {
		hint = `write ["…"]`
	}
	return &Error{Field: field, Offset: d.at, What: got + " stands where " + want + " is needed", hint: hint}
}

// optional reads null as a field that is not there.
func (d *decoder) optional(read func(string) error) func(string) error {
	return func(field string) error {
		t, err := d.peek(field)
		if err == nil && t == nil {
			_, err = d.next(field)
			return err
		}
		if err != nil {
			return err
		}
		return read(field)
	}
}

// object reads an object. Fields of foreign are read, too, but no hint names them.
func (d *decoder) object(field string, known fields, foreign ...fields) error {
	return d.members(field, func(name, sub string) error {
		read, ok := known[name]
		for _, more := range foreign {
			if !ok {
				read, ok = more[name]
			}
		}
		if !ok {
			return &Error{Field: sub, Offset: d.at, What: "there is no such setting", hint: nearest(name, known)}
		}
		return read(sub)
	})
}

func (d *decoder) members(field string, read func(name, field string) error) error {
	t, err := d.next(field)
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return d.wrong(field, t, "an object")
	}
	seen := map[string]bool{}
	for d.dec.More() {
		t, err := d.next(field)
		if err != nil {
			return err
		}
		name, _ := t.(string)
		sub := name
		if field != "" {
			sub = field + "." + name
		}
		if seen[name] {
			return &Error{Field: sub, Offset: d.at, What: "it stands here twice", hint: "keep one of them"}
		}
		seen[name] = true
		if err := read(name, sub); err != nil {
			return err
		}
	}
	_, err = d.next(field)
	return err
}

func (d *decoder) list(into *[]string, check entry) func(string) error {
	return func(field string) error {
		t, err := d.next(field)
		if err != nil {
			return err
		}
		if t != json.Delim('[') {
			return d.wrong(field, t, "a list")
		}
		out := []string{}
		for d.dec.More() {
			text, err := d.text(fmt.Sprintf("%s[%d]", field, len(out)), check)
			if err != nil {
				return err
			}
			out = append(out, text)
		}
		*into = out
		_, err = d.next(field)
		return err
	}
}

func (d *decoder) listPointer(into **[]string, check entry) func(string) error {
	return func(field string) error {
		var list []string
		err := d.list(&list, check)(field)
		*into = &list
		return err
	}
}

func (d *decoder) text(field string, check entry) (string, error) {
	t, err := d.next(field)
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", d.wrong(field, t, "a text")
	}
	if what, hint := check(s); what != "" {
		return "", &Error{Field: field, Offset: d.at, What: what, hint: hint}
	}
	return s, nil
}

func (d *decoder) flag(into *bool) func(string) error {
	return func(field string) error {
		t, err := d.next(field)
		if err != nil {
			return err
		}
		b, ok := t.(bool)
		if !ok {
			return d.wrong(field, t, "true or false")
		}
		*into = b
		return nil
	}
}

func (d *decoder) flagPointer(into **bool) func(string) error {
	return func(field string) error {
		*into = new(bool)
		return d.flag(*into)(field)
	}
}

// once reads a field that says the same as others in the same block may.
func (d *decoder) once(setting string, read func(string) error) func(string) error {
	return func(field string) error {
		if other, ok := d.said[setting]; ok {
			return &Error{Field: field, Offset: d.at, What: "it says the same as " + other + ", which stands here, too", hint: "keep one of them"}
		}
		d.said[setting] = field
		return read(field)
	}
}

// peek returns the next token and leaves it there.
func (d *decoder) peek(field string) (json.Token, error) {
	t, err := d.next(field)
	if err == nil {
		d.token, d.peeked = t, true
	}
	return t, err
}

func (d *decoder) port(into **int) func(string) error {
	return func(field string) error {
		t, err := d.next(field)
		if err != nil {
			return err
		}
		n, _ := t.(json.Number)
		port, err := strconv.Atoi(n.String())
		if err != nil || port < 1 || port > 65535 {
			return d.wrong(field, t, "a port (1 to 65535)")
		}
		*into = &port
		return nil
	}
}

// nearest names the setting that somebody may have meant, or all there are.
func nearest(name string, known fields) string {
	names := make([]string, 0, len(known))
	for k := range known {
		if strings.EqualFold(k, name) {
			return "did you mean " + k + "?"
		}
		names = append(names, k)
	}
	slices.Sort(names)
	return "the settings are " + strings.Join(names, ", ")
}
