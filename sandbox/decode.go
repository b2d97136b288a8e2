package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode reads settings from JSON. A field that is not known, stands there twice
// or has another type than it should, a null where a list is needed, and an entry
// that can never match are a *[SettingsError]. Seed 000's optional fields
// (allowedCommands, network, ripgrep, ignoreViolations, the ports) may be null,
// which is the same as leaving them out.
//
// What it returns may still ask for more than this build can do, see
// [Settings.Check].
func Decode(b []byte) (*Settings, error) {
	if !utf8.Valid(b) {
		return nil, &SettingsError{What: "not UTF-8", hint: "save the file as UTF-8"}
	}
	d := &decoder{source: b, dec: json.NewDecoder(bytes.NewReader(b))}
	d.dec.UseNumber()
	s := &Settings{}
	if err := d.object("", d.settings(s)); err != nil {
		return nil, err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &SettingsError{Offset: int(d.dec.InputOffset()), What: "something follows the settings", hint: "keep one object"}
	}
	return s, nil
}

// fields maps the names of an object's fields to what reads them.
type fields map[string]func(field string) error

func (d *decoder) settings(s *Settings) fields {
	return fields{
		"allowedReadPaths":          d.list(&s.AllowedReadPaths, checkPathEntry),
		"allowedWritePaths":         d.list(&s.AllowedWritePaths, checkPathEntry),
		"deniedPaths":               d.list(&s.DeniedPaths, checkPathEntry),
		"deniedCommands":            d.list(&s.DeniedCommands, checkCommandEntry),
		"allowedCommands":           d.optional(func(f string) error { return d.listPointer(&s.AllowedCommands, checkCommandEntry)(f) }),
		"allowNestedSandbox":        d.flagPointer(&s.AllowNestedSandbox),
		"autoAllowBashIfSandboxed":  d.flagPointer(&s.AutoAllowBashIfSandboxed),
		"allowUnsandboxedCommands":  d.flagPointer(&s.AllowUnsandboxedCommands),
		"enableWeakerNestedSandbox": d.flagPointer(&s.EnableWeakerNestedSandbox),
		"ignoreViolations":          d.optional(func(f string) error { return d.violations(f, s) }),
		"network":                   d.optional(func(f string) error { return d.network(f, s) }),
		"ripgrep":                   d.optional(func(f string) error { return d.ripgrep(f, s) }),
	}
}

func (d *decoder) network(field string, s *Settings) error {
	n := &Network{AllowedDomains: []string{}}
	s.Network = n
	return d.object(field, fields{
		"allowedDomains":          d.list(&n.AllowedDomains, checkDomainEntry),
		"allowManagedDomainsOnly": d.flag(&n.AllowManagedDomainsOnly),
		"allowLocalBinding":       d.flag(&n.AllowLocalBinding),
		"allowUnixSockets":        d.flag(&n.AllowUnixSockets),
		"allowAllUnixSockets":     d.flag(&n.AllowAllUnixSockets),
		"httpProxyPort":           d.optional(d.port(&n.HTTPProxyPort)),
		"socksProxyPort":          d.optional(d.port(&n.SOCKSProxyPort)),
	})
}

func (d *decoder) ripgrep(field string, s *Settings) error {
	r := &Ripgrep{}
	s.Ripgrep = r
	at := d.offset()
	err := d.object(field, fields{
		"command": func(f string) error {
			var err error
			r.Command, err = d.text(f, checkNotEmpty)
			return err
		},
		"args": d.optional(func(f string) error { return d.listPointer(&r.Args, checkAnything)(f) }),
	})
	if err == nil && r.Command == "" {
		return &SettingsError{Field: field, Offset: at, What: "it names no command", hint: `write {"command": "rg"}`}
	}
	return err
}

func (d *decoder) violations(field string, s *Settings) error {
	s.IgnoreViolations = map[string][]string{}
	return d.members(field, func(name, field string) error {
		var list []string
		if err := d.list(&list, checkNotEmpty)(field); err != nil {
			return err
		}
		s.IgnoreViolations[name] = list
		return nil
	})
}

// decoder reads the tokens of a document one by one, so that nothing in it is
// passed over.
type decoder struct {
	source []byte
	dec    *json.Decoder
	peeked bool
	token  json.Token
	at     int
}

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
		return nil, &SettingsError{Field: field, Offset: d.at, What: "not JSON: it ends too early", hint: "write {} when nothing is to be set"}
	case err != nil:
		return nil, &SettingsError{Field: field, Offset: d.at, What: "not JSON: " + err.Error()}
	}
	if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
		return nil, &SettingsError{Field: field, Offset: d.at, What: "the text holds half a character (U+FFFD)", hint: "write the character itself"}
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
	return &SettingsError{Field: field, Offset: d.at, What: got + " stands where " + want + " is needed", hint: hint}
}

// optional reads null as a field that is not there.
func (d *decoder) optional(read func(string) error) func(string) error {
	return func(field string) error {
		t, err := d.next(field)
		if err != nil || t == nil {
			return err
		}
		d.token, d.peeked = t, true
		return read(field)
	}
}

func (d *decoder) object(field string, known fields) error {
	return d.members(field, func(name, sub string) error {
		read, ok := known[name]
		if !ok {
			return &SettingsError{Field: sub, Offset: d.at, What: "there is no such setting", hint: nearest(name, known)}
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
			return &SettingsError{Field: sub, Offset: d.at, What: "it stands here twice", hint: "keep one of them"}
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
		return "", &SettingsError{Field: field, Offset: d.at, What: what, hint: hint}
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
