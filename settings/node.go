package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest settings file in bytes, maxDepth how deep one may nest.
const (
	maxFile  = 1 << 20
	maxDepth = 64
)

// node is a JSON value with the place where it stands.
type node struct {
	kind    kind
	at, end int // offsets in the source
	text    string
	members []member // of an object, in order
	items   []node   // of a list
}

type member struct {
	key   string
	at    int
	value node
}

type kind string

const (
	kindObject kind = "an object"
	kindList   kind = "a list"
	kindText   kind = "a text"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// fault is a problem at an offset of a source.
type fault struct {
	at         int
	what, hint string
}

func (f *fault) Error() string { return f.what }

// parse reads one JSON document: UTF-8, no comments, no member twice, nothing behind it.
func parse(source []byte) (node, error) {
	if at := invalidUTF8(source); at >= 0 {
		return node{}, &fault{at: at, what: "not UTF-8", hint: "save the file as UTF-8"}
	}
	var all json.RawMessage
	if err := json.Unmarshal(source, &all); err != nil {
		return node{}, syntaxFault(source, err)
	}
	r := reader{source: source, dec: json.NewDecoder(bytes.NewReader(source))}
	r.dec.UseNumber()
	return r.value(0)
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func syntaxFault(source []byte, err error) error {
	f := &fault{what: "not JSON: " + err.Error()}
	e, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return f
	}
	f.at = min(max(int(e.Offset)-1, 0), len(source))
	switch rest := source[f.at:]; {
	case len(bytes.TrimSpace(source)) == 0:
		f.at, f.what, f.hint = 0, "the file is empty", "write {} when nothing is to be set"
	case bytes.HasPrefix(rest, []byte("/")) || bytes.HasPrefix(rest, []byte("#")):
		f.what, f.hint = "not JSON: a comment", "take it out; comments are not allowed"
	case bytes.HasPrefix(rest, []byte("}")) || bytes.HasPrefix(rest, []byte("]")):
		f.hint = "look for a comma before it"
	case bytes.HasPrefix(source, []byte("\ufeff")):
		f.hint = "save the file without a byte order mark"
	}
	return f
}

// reader walks the tokens of a document that is known to be JSON.
type reader struct {
	source []byte
	dec    *json.Decoder
}

// token returns the next token and where it begins.
func (r *reader) token() (json.Token, int, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.source) && strings.IndexByte(" \t\r\n,:", r.source[at]) >= 0 {
		at++
	}
	t, err := r.dec.Token()
	if err != nil {
		return nil, at, &fault{at: at, what: "not JSON: " + err.Error()}
	}
	return t, at, nil
}

func (r *reader) value(depth int) (node, error) {
	t, at, err := r.token()
	if err != nil {
		return node{}, err
	}
	n := node{at: at}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxDepth {
			return n, &fault{at: at, what: fmt.Sprintf("nested deeper than %d", maxDepth)}
		}
		if t == '{' {
			err = r.object(&n, depth)
		} else {
			err = r.list(&n, depth)
		}
	case string:
		n.kind, n.text = kindText, t
		if strings.ContainsRune(t, utf8.RuneError) {
			err = &fault{at: at, what: "the text holds half a character (U+FFFD)", hint: "write the character itself"}
		}
	case json.Number:
		n.kind, n.text = kindNumber, t.String()
	case bool:
		n.kind, n.text = kindBool, fmt.Sprint(t)
	case nil:
		n.kind = kindNull
	}
	n.end = int(r.dec.InputOffset())
	return n, err
}

func (r *reader) object(n *node, depth int) error {
	n.kind = kindObject
	seen := map[string]bool{}
	for r.dec.More() {
		t, at, err := r.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if seen[key] {
			return &fault{at: at, what: fmt.Sprintf("%q stands here twice", key), hint: "keep one of them"}
		}
		seen[key] = true
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key: key, at: at, value: v})
	}
	_, _, err := r.token()
	return err
}

func (r *reader) list(n *node, depth int) error {
	n.kind = kindList
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

// position turns an offset into a line and a column, both from 1, in bytes.
func position(source []byte, at int) (line, col int) {
	before := source[:min(at, len(source))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
