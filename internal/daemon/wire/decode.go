package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Limits of a client's message.
const (
	MaxMessage   = 1 << 20 // bytes of a message
	MaxRequestID = 128     // bytes of a requestId
	MaxGlobs     = 1000    // of a list in update_policy
	maxValues    = 20_000  // JSON values in a message
	maxProblems  = 8       // number of problems that an error lists
)

// Decode reads a client's message and returns a pointer to one of this package's requests, such as
// *[StartRun]. It is strict. Its errors have one of these codes:
//
//	PARSE_ERROR       not one JSON object in UTF-8, a duplicate key, or nested more than 64 deep
//	INVALID_MESSAGE   unknown type
//	VALIDATION_ERROR  an unknown or missing field, or a value that the field does not take; all such fields are named
//
// The error has the message's RequestID if that could be read.
func Decode(frame []byte) (Request, *Error) {
	if len(frame) > MaxMessage {
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("Message of %d bytes is too large, at most %d are allowed", len(frame), MaxMessage)}
	}
	if n := maxValueCount(frame); n > maxValues {
		return nil, &Error{Code: CodeValidation, Message: fmt.Sprintf("Invalid message: it has %d values, at most %d are allowed", n, maxValues)}
	}
	root, err := jsontree.Parse(withoutReplacement(frame))
	if err != nil {
		return nil, notParsed(frame, err)
	}
	if root.Kind != jsontree.Object {
		return nil, &Error{
			Code: CodeParse, Message: "Invalid JSON: a message must be one object, not " + root.Show(),
			Hint: `such as {"type":"ping"}`,
		}
	}
	c := validation{frame: frame}
	e := Envelope{RequestID: c.correlation(&root)}
	f, problem := formOf(&root)
	if problem != nil {
		problem.Envelope = e
		return nil, problem
	}
	r := c.request(f, &root)
	if len(c.problems) > 0 {
		return nil, &Error{Envelope: e, Code: CodeValidation, Message: "Invalid message: " + strings.Join(c.problems, "; "), RunID: c.runID(&root)}
	}
	return r, nil
}

// maxValueCount returns an upper limit for the number of JSON values in a frame, without decoding it. It
// does not count commas and brackets in strings.
func maxValueCount(frame []byte) int {
	n, text := 1, false
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case c == '\\' && text:
			i++
		case c == '"':
			text = !text
		case !text && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// withoutReplacement returns a copy of the frame in which another character of the same size
// replaces each U+FFFD. The parser treats U+FFFD as a sign of invalid UTF-8, but here the user may
// have pasted it. Values are read from the original frame.
func withoutReplacement(frame []byte) []byte {
	if bytes.Contains(frame, []byte("\uFFFD")) {
		frame = bytes.ReplaceAll(frame, []byte("\uFFFD"), []byte("\u2022"))
	}
	const escaped = `\ufffd`
	copied := false
	for at := 0; ; at += len(escaped) {
		next := bytes.Index(frame[at:], []byte(`\u`))
		if next < 0 {
			return frame
		}
		if at += next; len(frame)-at < len(escaped) {
			return frame
		}
		if !bytes.EqualFold(frame[at:at+len(escaped)], []byte(escaped)) {
			at += len(`\u`) - len(escaped)
			continue
		}
		if !copied {
			frame, copied = bytes.Clone(frame), true
		}
		copy(frame[at:], `\u2022`)
	}
}

// notParsed returns the error for a frame that is not JSON or has a duplicate key.
func notParsed(frame []byte, err error) *Error {
	e := &Error{Code: CodeParse, Message: "Invalid JSON: " + err.Error()}
	if at, ok := err.(*jsontree.Error); ok { //nolint:errorlint // Parse returns nothing else
		e.Message = fmt.Sprintf("Invalid JSON at byte %d: %s", at.Offset, strings.TrimPrefix(at.What, "not JSON: "))
	}
	var loose map[string]json.RawMessage
	var id string
	if json.Unmarshal(frame, &loose) == nil && json.Unmarshal(loose["requestId"], &id) == nil && len(id) <= MaxRequestID {
		e.RequestID = id
	}
	return e
}

// formOf returns the form for the type of a message.
func formOf(root *jsontree.Node) (*form, *Error) {
	kind := root.Field("type")
	switch {
	case kind == root:
		return nil, &Error{Code: CodeValidation, Message: "Invalid message: type: is missing", Hint: `such as {"type":"ping"}`}
	case kind.Kind != jsontree.Text:
		return nil, &Error{Code: CodeValidation, Message: fmt.Sprintf("Invalid message: type: must be a text, not %s", kind.Show())}
	}
	if f, ok := forms()[kind.Text]; ok {
		return f, nil
	}
	e := &Error{Code: CodeInvalidMessage, Message: fmt.Sprintf("Unknown message type %.60q", kind.Text)}
	if near := spelling.Nearest(kind.Text, requestTypes); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	} else {
		e.Hint = "clients may send " + strings.Join(requestTypes, ", ")
	}
	return nil, e
}

// form describes one type of message.
type form struct {
	request reflect.Type
	fields  []field
	check   func(Request) string // checks fields together and returns the problem, or ""
}

// field describes one field of a message.
type field struct {
	name     string
	required bool
	kind     jsontree.Kind
	rule     rule
}

func (f *form) names() []string {
	names := make([]string, len(f.fields))
	for i := range f.fields {
		names[i] = f.fields[i].name
	}
	return names
}

// forms are the client messages by type.
var forms = sync.OnceValue(func() map[string]*form {
	all := make(map[string]*form, len(requests))
	for _, r := range requests {
		t := reflect.TypeOf(r.of).Elem()
		f := &form{request: t, check: r.check}
		for _, sf := range reflect.VisibleFields(t) {
			if sf.Anonymous {
				continue
			}
			name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
			rl, own := r.rules[name]
			if !own {
				rl = rules[name]
			}
			f.fields = append(f.fields, field{name: name, required: options != "omitempty", kind: kindOf(sf.Type), rule: rl})
		}
		all[r.name] = f
	}
	return all
})

func kindOf(t reflect.Type) jsontree.Kind {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return jsontree.Text
	case reflect.Bool:
		return jsontree.Bool
	case reflect.Int, reflect.Int64, reflect.Float64:
		return jsontree.Number
	case reflect.Slice:
		if t == reflect.TypeFor[Raw]() {
			return jsontree.Object
		}
		return jsontree.List
	default:
		panic("wire: a request has a field of type " + t.String())
	}
}

// validation is the state of checking one message.
type validation struct {
	frame    []byte
	problems []string
}

func (c *validation) addProblem(name, format string, args ...any) {
	switch {
	case len(c.problems) < maxProblems:
		c.problems = append(c.problems, name+": "+fmt.Sprintf(format, args...))
	case len(c.problems) == maxProblems:
		c.problems = append(c.problems, "and more")
	}
}

// text returns a field's string value with exactly the characters that the frame contains.
func (c *validation) text(n *jsontree.Node) string {
	if !strings.ContainsRune(n.Text, '\u2022') {
		return n.Text
	}
	var s string
	if json.Unmarshal(c.frame[n.At:n.End], &s) != nil {
		return n.Text
	}
	return s
}

// correlation returns the message's requestId, or "" if it is missing or invalid.
func (c *validation) correlation(root *jsontree.Node) string {
	n := root.Field("requestId")
	if n.Kind != jsontree.Text || len(n.Text) > MaxRequestID {
		return ""
	}
	return c.text(n)
}

// runID returns the message's runId, or "" if it is missing or invalid.
func (c *validation) runID(root *jsontree.Node) string {
	n := root.Field("runId")
	if n.Kind != jsontree.Text || sessionIDProblem(n.Text) != "" {
		return ""
	}
	return c.text(n)
}

// request decodes the message and collects its problems.
func (c *validation) request(f *form, root *jsontree.Node) Request {
	seen := make(map[string]bool, len(root.Members))
	for i := range root.Members {
		m := &root.Members[i]
		seen[m.Key] = true
		c.member(f, m)
	}
	for i := range f.fields {
		if d := &f.fields[i]; d.required && !seen[d.name] {
			c.addProblem(d.name, "is missing")
		}
	}
	if len(c.problems) > 0 {
		return nil
	}
	r, _ := reflect.TypeAssert[Request](reflect.New(f.request))
	if err := json.Unmarshal(c.frame, r); err != nil {
		c.addProblem("message", "%v", err)
		return nil
	}
	if f.check != nil {
		if what := f.check(r); what != "" {
			c.problems = append(c.problems, what)
		}
	}
	return r
}

func (c *validation) member(f *form, m *jsontree.Member) {
	for i := range f.fields {
		if d := &f.fields[i]; d.name == m.Key {
			if m.Value.Kind != d.kind {
				c.addProblem(d.name, "must be %s, not %s", d.kind, m.Value.Show())
				return
			}
			if what := d.rule.check(&m.Value); what != "" {
				c.addProblem(d.name, "%s", what)
			} else if d.rule.images {
				if err := m.Value.Decode(c.frame, new([]transcript.Media)); err != nil {
					c.addProblem(d.name, "%v", err)
				}
			}
			return
		}
	}
	names := f.names()
	if near := spelling.Nearest(m.Key, names); near != "" {
		c.addProblem(fmt.Sprintf("%.60q", m.Key), "unknown field, did you mean %q?", near)
		return
	}
	c.addProblem(fmt.Sprintf("%.60q", m.Key), "unknown field, the fields are %s", strings.Join(names, ", "))
}
