package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of a text.
const maxDepth = 64

// ErrDeep is the error that an [Error] wraps for a text that is nested too deeply.
var ErrDeep = errors.New("nested too deep")

// ErrType is the error that an [Error] wraps for a value that does not match the Go type.
var ErrType = errors.New("wrong type")

// Error describes what is wrong with a text, and where.
type Error struct {
	Offset int    // in bytes
	Path   string // path of a value that does not fit, such as a.b[0]; "" for the whole text
	What   string // the detail; if there is a Path, the detail follows the name of the value
	Hint   string // how to fix it, or ""
	Err    error  // a *[json.SyntaxError], [ErrType], [ErrDeep] or nil
}

func (e *Error) Error() string { return strings.TrimPrefix(e.Path+" "+e.What, " ") }

func (e *Error) Unwrap() error { return e.Err }

// Parse parses one JSON text. The text must be UTF-8, without comments, duplicate keys or text
// after it, and its depth may be at most 64. Errors are *[Error].
func Parse(source []byte) (Node, error) {
	if at := invalidUTF8(source); at >= 0 {
		return Node{}, &Error{Offset: at, What: "not UTF-8", Hint: "save the file as UTF-8"}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(source, &whole); err != nil {
		e := &Error{What: "not JSON: " + err.Error(), Err: err}
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			e.Offset = min(max(int(s.Offset)-1, 0), len(source))
		}
		return Node{}, e
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

// reader reads the tokens of a text that is known to be valid JSON.
type reader struct {
	source []byte
	dec    *json.Decoder
}

// token returns the next token and its offset.
func (r *reader) token() (json.Token, int, error) {
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

func (r *reader) value(depth int) (Node, error) {
	t, at, err := r.token()
	if err != nil {
		return Node{}, err
	}
	n := Node{At: at}
	switch t := t.(type) {
	case json.Delim:
		switch {
		case depth == maxDepth:
			err = &Error{Offset: at, What: fmt.Sprintf("nested deeper than %d", maxDepth), Err: ErrDeep}
		case t == '{':
			err = r.object(&n, depth)
		default:
			err = r.list(&n, depth)
		}
	case string:
		n.Kind, n.Text = Text, t
		if strings.Count(t, replacement) > countReplacements(r.source[at:r.dec.InputOffset()]) {
			err = &Error{Offset: at, What: "the text contains half of a surrogate pair (U+FFFD)", Hint: "write the character itself"}
		}
	case json.Number:
		n.Kind, n.Text = Number, t.String()
	case bool:
		n.Kind, n.Text = Bool, fmt.Sprint(t)
	case nil:
		n.Kind, n.Text = Null, "null"
	}
	n.End = int(r.dec.InputOffset())
	return n, err
}

// replacement is U+FFFD. The decoder returns it for one half of a surrogate pair.
const replacement = string(utf8.RuneError)

// countReplacements counts how many times the text itself contains U+FFFD, as a character or as an
// escape.
func countReplacements(text []byte) int {
	n := bytes.Count(text, []byte(replacement))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if len(text)-i >= 6 && bytes.EqualFold(text[i+1:i+6], []byte("ufffd")) {
			n++
		}
		i++ // the escaped character
	}
	return n
}

func (r *reader) object(n *Node, depth int) error {
	n.Kind = Object
	seen := map[string]bool{}
	for r.dec.More() {
		t, at, err := r.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if seen[key] {
			return &Error{Offset: at, What: fmt.Sprintf("duplicate key %q", key), Hint: "keep one of them"}
		}
		seen[key] = true
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Members = append(n.Members, Member{Key: key, At: at, Value: v})
	}
	_, _, err := r.token()
	return err
}

func (r *reader) list(n *Node, depth int) error {
	n.Kind = List
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, v)
	}
	_, _, err := r.token()
	return err
}

// StartsObject reports whether a text that may be a path is a JSON object instead.
func StartsObject(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }
