package policy

import (
	"bytes"
	"encoding/json"
	"strings"
)

// params are the fields at the top level of an input. Tools ignore the case of field names, and if
// two fields have the same name, they use the last one. A rule therefore denies if any of the
// fields with its name matches.
type params struct {
	list    []param
	unclear bool // the input is not a valid JSON object
}

type param struct {
	name   string
	text   string
	scalar bool
}

// paramPattern is Tool(name:value); stars in the value match any text.
type paramPattern struct {
	name  string
	value []string
}

// splitParam splits "name:value".
func splitParam(spec string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(spec, ":")
	if !ok || name == "" || strings.TrimSpace(value) == "" {
		return "", "", false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return "", "", false
		}
	}
	return name, strings.TrimSpace(value), true
}

func (p *paramPattern) match(list *params) bool {
	for i := range list.list {
		had := &list.list[i]
		if !strings.EqualFold(had.name, p.name) {
			continue
		}
		if len(p.value) == 2 && p.value[0] == "" && p.value[1] == "" || had.scalar && matchParts(p.value, had.text, false) {
			return true
		}
	}
	return false
}

// inputParams parses the input once.
func (s *requestView) inputParams() *params {
	if s.params == nil {
		s.params = readParams(s.Input)
	}
	return s.params
}

func readParams(input []byte) *params {
	p := &params{}
	if len(bytes.TrimSpace(input)) == 0 {
		return p
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		p.unclear = true
		return p
	}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		var raw json.RawMessage
		if err != nil || !isName || d.Decode(&raw) != nil {
			p.unclear = true
			return p
		}
		p.list = append(p.list, newParam(name, raw))
	}
	if _, err := d.Token(); err != nil {
		p.unclear = true
	}
	return p
}

func newParam(name string, raw json.RawMessage) param {
	text := strings.TrimSpace(string(raw))
	switch text[0] {
	case '{', '[':
		return param{name: name}
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return param{name: name}
		}
		return param{name: name, text: s, scalar: true}
	}
	return param{name: name, text: text, scalar: true}
}

// field returns the first of the fields that contains a string.
func (p *params) field(names []string) string {
	for _, name := range names {
		for i := range p.list {
			if had := &p.list[i]; had.name == name && had.scalar && had.text != "" {
				return had.text
			}
		}
	}
	return ""
}
