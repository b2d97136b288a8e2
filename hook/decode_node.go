package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep a text may be nested.
const maxDepth = 64

// node is a JSON value with its place in the source.
type node struct {
	kind    byte // of an object '{', a list '[', a text '"', a number '0', true or false 't', null 'n'
	at      int  // offset of its first byte
	text    string
	members []member
	items   []node
}

type member struct {
	name  string
	at    int
	value node
}

// kinds are the words for what stands somewhere.
var kinds = map[byte]string{'{': "an object", '[': "a list", '"': "a text", '0': "a number", 't': "true or false", 'n': "null"}

// show is the value as an error says it.
func (n *node) show() string {
	switch n.kind {
	case '"':
		return fmt.Sprintf("%.60q", n.text)
	case '0', 't', 'n':
		return n.text
	}
	return kinds[n.kind]
}

// parseNodes reads a JSON text. The error is an *[Error] with the offset.
func parseNodes(source []byte) (node, error) {
	if at := invalidUTF8(source); at >= 0 {
		return node{}, &Error{Offset: at, What: "not UTF-8", Advice: "save the file as UTF-8"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(source, &whole); err != nil {
		e := &Error{What: "not JSON: " + err.Error()}
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			e.Offset = min(max(int(s.Offset)-1, 0), len(source))
		}
		return node{}, e
	}
	r := nodeReader{source: source, dec: json.NewDecoder(bytes.NewReader(source))}
	r.dec.UseNumber()
	return r.value(0)
}

func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n < 2 {
			return i
		}
		i += n
	}
}

// nodeReader walks the tokens of a text that is known to be JSON.
type nodeReader struct {
	source []byte
	dec    *json.Decoder
}

func (r *nodeReader) token() (json.Token, int, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.source) && strings.IndexByte(" \t\r\n,:", r.source[at]) >= 0 {
		at++
	}
	t, err := r.dec.Token()
	if err != nil {
		return nil, at, &Error{Offset: at, What: "not JSON: " + err.Error()}
	}
	return t, at, nil
}

func (r *nodeReader) value(depth int) (node, error) {
	t, at, err := r.token()
	if err != nil {
		return node{}, err
	}
	n := node{at: at}
	switch t := t.(type) {
	case json.Delim:
		n.kind = byte(t)
		switch {
		case depth == maxDepth:
			err = &Error{Offset: at, What: fmt.Sprintf("nested deeper than %d", maxDepth), Advice: "nothing here needs such a depth"}
		case t == '{':
			err = r.object(&n, depth)
		default:
			err = r.list(&n, depth)
		}
	case string:
		n.kind, n.text = '"', t
		if strings.ContainsRune(t, utf8.RuneError) {
			err = &Error{Offset: at, What: "the text holds half a character (U+FFFD)", Advice: "write the character itself"}
		}
	case json.Number:
		n.kind, n.text = '0', t.String()
	case bool:
		n.kind, n.text = 't', fmt.Sprint(t)
	case nil:
		n.kind, n.text = 'n', "null"
	}
	return n, err
}

func (r *nodeReader) object(n *node, depth int) error {
	seen := map[string]bool{}
	for r.dec.More() {
		t, at, err := r.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if seen[name] {
			return &Error{Offset: at, What: fmt.Sprintf("%q stands here twice", name), Advice: "keep one of them"}
		}
		seen[name] = true
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{name: name, at: at, value: v})
	}
	_, _, err := r.token()
	return err
}

func (r *nodeReader) list(n *node, depth int) error {
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, _, err := r.token()
	return err
}
