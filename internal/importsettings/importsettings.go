package importsettings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Program is another agent program.
type Program string

// The programs.
const (
	Claude   Program = "claude"
	Codex    Program = "codex"
	OpenCode Program = "opencode"
	Gemini   Program = "gemini"
)

// Programs lists all programs.
var Programs = []Program{Claude, Codex, OpenCode, Gemini}

// String returns the program's display name.
func (p Program) String() string {
	switch p {
	case Claude:
		return "Claude Code"
	case Codex:
		return "Codex"
	case OpenCode:
		return "opencode"
	case Gemini:
		return "Gemini CLI"
	}
	return string(p)
}

// Kind is the kind of a settings file of another program.
type Kind string

// The kinds.
const (
	Settings     Kind = "settings"     // a user's or a project's
	Managed      Kind = "managed"      // managed settings, in the form of Settings
	Requirements Kind = "requirements" // Codex's requirements.toml
	Rules        Kind = "rules"        // Codex's rules for commands, *.rules
)

// File is a file of another program in Holdfast's form.
type File struct {
	JSON        []byte // a Holdfast settings file
	Unsupported []Unsupported

	source  []byte
	offsets []sourceOffset // the original positions of the values and keys in JSON, sorted by their offset in it
}

// Unsupported is a setting without an equivalent.
type Unsupported struct {
	Key       string // "permissions.disableAutoMode"
	Line, Col int
	Reason    string
	// Silent settings do not change what an agent may do, so they are not reported with each run.
	Silent bool
}

type sourceOffset struct{ offset, at int }

// Error says why a file cannot be read.
type Error struct {
	Line, Col int // from 1; 0 when unknown
	Detail    string
	Hint      string
}

func (e *Error) Error() string { return e.Detail }

// Read reads a file. For every program, JSON may contain comments and trailing commas: a part that
// a strict parser does not read may contain a deny rule. Errors are *[Error].
func Read(p Program, k Kind, data []byte) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	t := &translation{source: data}
	var root jsontree.Node
	var err error
	switch {
	case p == Codex && k == Rules:
		root, err = parseRules(data)
	case p == Codex:
		root, err = parseTOML(data)
	default:
		root, err = parseJSON(data)
	}
	if err != nil {
		return nil, err
	}
	if root.Kind != jsontree.Object {
		return nil, t.invalid(root.At, "the file is "+root.Show()+", want an object")
	}
	switch p {
	case Claude:
		t.claude(root, k)
	case Codex:
		switch k {
		case Requirements:
			t.requirements(root)
		case Rules:
			t.codexRules(root)
		case Settings, Managed:
			t.codex(root)
		}
	case OpenCode:
		t.openCode(root)
	case Gemini:
		t.gemini(root)
	default:
		return nil, fmt.Errorf("foreign: unknown program %q", p)
	}
	if t.err != nil {
		return nil, t.err
	}
	f := &File{Unsupported: t.skipped, source: data}
	f.write(&t.out)
	slices.SortStableFunc(f.Unsupported, func(a, b Unsupported) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return f, nil
}

// Position returns the original position of an offset in JSON: line and column from 1.
func (f *File) Position(offset int) (line, col int) {
	i, found := slices.BinarySearchFunc(f.offsets, offset, func(p sourceOffset, at int) int { return cmp.Compare(p.offset, at) })
	if !found {
		i-- // the offset is inside the value that starts before it
	}
	if i < 0 {
		return 1, 1
	}
	return position(f.source, f.offsets[i].at)
}

// write writes a node and records the positions of its values.
func (f *File) write(n *jsontree.Node) {
	f.offsets = append(f.offsets, sourceOffset{len(f.JSON), n.At})
	switch n.Kind {
	case jsontree.Object:
		f.JSON = append(f.JSON, '{')
		for i := range n.Members {
			m := &n.Members[i]
			if i > 0 {
				f.JSON = append(f.JSON, ',')
			}
			f.offsets = append(f.offsets, sourceOffset{len(f.JSON), m.At})
			f.JSON = append(append(f.JSON, jsonscan.Quote(m.Key)...), ':')
			f.write(&m.Value)
		}
		f.JSON = append(f.JSON, '}')
	case jsontree.List:
		f.JSON = append(f.JSON, '[')
		for i := range n.Items {
			if i > 0 {
				f.JSON = append(f.JSON, ',')
			}
			f.write(&n.Items[i])
		}
		f.JSON = append(f.JSON, ']')
	case jsontree.Text:
		f.JSON = append(f.JSON, jsonscan.Quote(n.Text)...)
	case jsontree.Number, jsontree.Bool, jsontree.Null:
		f.JSON = append(f.JSON, n.Text...)
	}
}

// position converts an offset to a line and a column, both from 1, in bytes.
func position(source []byte, at int) (line, col int) {
	before := source[:min(max(at, 0), len(source))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// translation is the state of translating a file.
type translation struct {
	source  []byte
	out     jsontree.Node // Holdfast's form
	skipped []Unsupported
	err     error
}

func (t *translation) invalid(at int, what string) *Error {
	line, col := position(t.source, at)
	return &Error{Line: line, Col: col, Detail: what}
}

// refuse ends the translation with an error, because the setting may be a restriction.
func (t *translation) refuse(at int, format string, args ...any) {
	if t.err == nil {
		t.err = t.invalid(at, fmt.Sprintf(format, args...))
	}
}

// unsupported notes a setting without an equivalent.
func (t *translation) unsupported(key string, at int, why string) {
	line, col := position(t.source, at)
	t.skipped = append(t.skipped, Unsupported{Key: key, Line: line, Col: col, Reason: why})
}

// unsupportedSilent notes a setting without an equivalent that does not affect safety.
func (t *translation) unsupportedSilent(key string, at int, why string) {
	t.unsupported(key, at, why)
	t.skipped[len(t.skipped)-1].Silent = true
}

// put sets the value of a dotted key in the output.
func (t *translation) put(key string, n jsontree.Node) {
	at := &t.out
	at.Kind = jsontree.Object
	names := strings.Split(key, ".")
	for i, name := range names {
		j := slices.IndexFunc(at.Members, func(m jsontree.Member) bool { return m.Key == name })
		if j < 0 {
			at.Members = append(at.Members, jsontree.Member{Key: name, At: n.At, Value: jsontree.Node{Kind: jsontree.Object, At: n.At}})
			j = len(at.Members) - 1
		}
		at = &at.Members[j].Value
		if i == len(names)-1 {
			*at = n
		}
	}
}

// add appends a text to a list in the output, without duplicates.
func (t *translation) add(key, text string, at int) {
	list := find(&t.out, key)
	if list == nil {
		t.put(key, jsontree.Node{Kind: jsontree.List, At: at})
		list = find(&t.out, key)
	}
	if !slices.ContainsFunc(list.Items, func(n jsontree.Node) bool { return n.Text == text }) {
		list.Items = append(list.Items, jsontree.Node{Kind: jsontree.Text, Text: text, At: at})
	}
}

// find returns the node of a dotted key, or nil.
func find(n *jsontree.Node, key string) *jsontree.Node {
	for name := range strings.SplitSeq(key, ".") {
		if n = n.Member(name); n == nil {
			return nil
		}
	}
	return n
}

func text(s string, at int) jsontree.Node {
	return jsontree.Node{Kind: jsontree.Text, Text: s, At: at}
}

// texts returns the items of a list of strings. A single string is treated as a list of one. It
// returns false for any other node.
func texts(n *jsontree.Node) ([]jsontree.Node, bool) {
	if n.Kind == jsontree.Text {
		return []jsontree.Node{*n}, true
	}
	if n.Kind != jsontree.List || slices.ContainsFunc(n.Items, func(i jsontree.Node) bool { return i.Kind != jsontree.Text }) {
		return nil, false
	}
	return n.Items, true
}

// asJSONError returns a JSON parser's error as *[jsontree.Error].
func asJSONError(err error) (*jsontree.Error, bool) { return errors.AsType[*jsontree.Error](err) }
