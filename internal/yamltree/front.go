package yamltree

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// maxFront is the maximum size of front matter in bytes.
const maxFront = 64 << 10

// Text is a Markdown text split into front matter and body.
//
//	---                  ┐
//	name: reviewer       │ Front, an object
//	---                  ┘
//	You review changes.    Body, starting at BodyAt
type Text struct {
	Front          jsontree.Node // offsets are relative to the whole text; an empty object if there is no front matter
	HasFrontMatter bool          // there is front matter
	Body           string        // the text after it, or the whole text
	BodyAt         int           // offset of the body
}

// Split splits a text. Front matter is YAML between a first line --- and the next line ---. Front
// matter without an end, or that is not an object, is an error. A byte order mark is removed. The
// text must be UTF-8. Errors are *[Error], with offsets that are relative to the whole text. A
// colon in a one-line prose value, such as a description, needs no quotes.
func Split(source []byte) (Text, error) {
	if !utf8.Valid(source) {
		return Text{}, &Error{Offset: -1, Detail: "not UTF-8", Hint: "save the file as UTF-8"}
	}
	start := 0
	if bytes.HasPrefix(source, []byte("\ufeff")) {
		start = len("\ufeff")
	}
	t := Text{Front: jsontree.Node{Kind: jsontree.Object, At: start}, Body: string(source[start:]), BodyAt: start}
	first, next := line(source, start)
	if !fence(first) {
		return t, nil
	}
	t.HasFrontMatter = true
	end := next
	for {
		if end >= len(source) {
			return Text{}, &Error{Offset: start, Detail: "the front matter does not end", Hint: "close it with a line ---"}
		}
		l, after := line(source, end)
		if fence(l) {
			t.Body, t.BodyAt = string(source[after:]), after
			break
		}
		end = after
	}
	if end-next > maxFront {
		return Text{}, &Error{Offset: next, Detail: "the front matter is larger than 64 KiB"}
	}
	// The text before it is replaced by spaces, so that offsets do not change.
	front := bytes.Repeat([]byte{' '}, end)
	front[next-1] = '\n'
	copy(front[next:], source[next:end])
	if empty(front) {
		return t, nil
	}
	n, err := Parse(front)
	if err != nil {
		var ok bool
		if n, ok = lenient(front); !ok {
			return Text{}, err
		}
	}
	if n.Kind == jsontree.Null {
		return t, nil
	}
	if n.Kind != jsontree.Object {
		return Text{}, &Error{Offset: n.At, Detail: "the front matter must be an object, not " + n.Show(), Hint: "write KEY: VALUE, one per line"}
	}
	t.Front = n
	return t, nil
}

// proseKeys are keys whose value is one line that often contains a colon but has no quotes.
var proseKeys = []string{"description", "when_to_use", "when-to-use", "argument-hint"}

// lenient parses front matter that is valid YAML except for a colon in the prose of a line, which
// other programs accept: "description: Use it when: the user asks". During parsing, the prose is
// replaced by letters, one for each byte, so that offsets do not change.
func lenient(front []byte) (jsontree.Node, bool) {
	masked := bytes.Clone(front)
	prose := map[string]string{} // by key
	for at := 0; at < len(front); {
		l, next := line(front, at)
		key, _, _ := bytes.Cut(l, []byte(": "))
		text, _, _ := bytes.Cut(l[min(len(key)+1, len(l)):], []byte(" #"))
		text = bytes.TrimSpace(text)
		colon := bytes.Contains(text, []byte(": ")) || bytes.HasSuffix(text, []byte(":"))
		if slices.Contains(proseKeys, string(key)) && colon && !bytes.ContainsAny(text[:1], "\"'|>[{&*!%@`#") {
			start := at + bytes.Index(l, text)
			copy(masked[start:], bytes.Repeat([]byte{'x'}, len(text)))
			prose[string(key)] = string(text)
		}
		at = next
	}
	n, err := Parse(masked)
	if err != nil || len(prose) == 0 || n.Kind != jsontree.Object {
		return n, false
	}
	for i := range n.Members {
		m := &n.Members[i]
		if text, ok := prose[m.Key]; ok {
			m.Value.Text = strings.Replace(m.Value.Text, strings.Repeat("x", len(text)), text, 1)
		}
	}
	return n, true
}

// line returns the line at an offset, without its line break, and the offset of the next line.
func line(source []byte, at int) (text []byte, next int) {
	i := bytes.IndexByte(source[at:], '\n')
	if i < 0 {
		return source[at:], len(source)
	}
	return source[at : at+i], at + i + 1
}

func fence(l []byte) bool { return string(bytes.TrimRight(l, " \t\r")) == "---" }

// empty reports whether there are only comments and blank lines.
func empty(front []byte) bool {
	for l := range bytes.Lines(front) {
		if l = bytes.TrimSpace(l); len(l) > 0 && l[0] != '#' {
			return false
		}
	}
	return true
}

// Position returns the line and column of an offset, in characters, from 1; 0, 0 if the offset
// is unknown.
func Position(source []byte, offset int) (line, column int) {
	if offset < 0 || offset > len(source) {
		return 0, 0
	}
	before := source[:offset]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
