// Package deltas splits and joins the deltas of an answer and of the output of calls.
//
//	var t deltas.Text
//	t.Add(event.TextDelta{Text: "Hel"})
//	t.Add(event.TextDelta{Text: "lo"})
//	t.Events() // TextDelta{"Hello"}
package deltas

import (
	"strings"

	"github.com/holdfast-dev/holdfast/event"
)

// Split splits a delta into its kind, which is the delta without its text, and its text. For all
// other events, the kind is nil.
func Split(e event.Event) (kind event.Event, text string) {
	switch e := e.(type) {
	case event.TextDelta:
		return event.TextDelta{}, e.Text
	case event.ThinkingDelta:
		return event.ThinkingDelta{}, e.Text
	case event.ToolInputDelta:
		return event.ToolInputDelta{Use: e.Use, Tool: e.Tool}, e.JSON
	case event.ToolOutputDelta:
		return event.ToolOutputDelta{Use: e.Use}, e.Text
	}
	return nil, ""
}

// Join returns the delta of a kind with a text. It is the opposite of [Split].
func Join(kind event.Event, text string) event.Event {
	switch k := kind.(type) {
	case event.TextDelta:
		k.Text = text
		return k
	case event.ThinkingDelta:
		k.Text = text
		return k
	case event.ToolInputDelta:
		k.JSON = text
		return k
	case event.ToolOutputDelta:
		k.Text = text
		return k
	}
	return kind
}

// Text is the text of an answer so far. The zero value is an empty text.
type Text struct {
	parts []*part
	size  int
}

// part is the text of successive deltas of one kind.
type part struct {
	kind event.Event
	text strings.Builder
}

// Add adds a delta.
func (t *Text) Add(e event.Event) {
	kind, text := Split(e)
	if n := len(t.parts); n == 0 || t.parts[n-1].kind != kind {
		t.parts = append(t.parts, &part{kind: kind})
	}
	t.parts[len(t.parts)-1].text.WriteString(text)
	t.size += len(text)
}

// Size returns the size of the text in bytes.
func (t *Text) Size() int { return t.size }

// Events returns deltas that contain the whole text, as few as possible.
func (t *Text) Events() []event.Event {
	list := make([]event.Event, len(t.parts))
	for i, p := range t.parts {
		list[i] = Join(p.kind, p.text.String())
	}
	return list
}

// Answer returns the text without the thinking and the input of calls.
func (t *Text) Answer() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.kind == (event.TextDelta{}) {
			b.WriteString(p.text.String())
		}
	}
	return b.String()
}

// Position is a place in a text. The zero value is its beginning.
type Position struct{ part, at int }

// Skip moves a position past a delta that repeats the text from there. It returns the part of the
// delta that is after the end of the text, or nil. If the delta differs from the text, ok is false.
func (t *Text) Skip(at *Position, e event.Event) (rest event.Event, ok bool) {
	kind, text := Split(e)
	next := *at
	for text != "" && next.part < len(t.parts) {
		p := t.parts[next.part]
		known := p.text.String()[next.at:]
		if known == "" {
			next = Position{part: next.part + 1}
			continue
		}
		n := min(len(known), len(text))
		if p.kind != kind || known[:n] != text[:n] {
			return nil, false
		}
		next.at, text = next.at+n, text[n:]
	}
	if *at = next; text == "" {
		return nil, true
	}
	return Join(kind, text), true
}

// Until returns the part of the text before a position.
func (t *Text) Until(at Position) *Text {
	before := new(Text)
	for i, p := range t.parts[:min(at.part+1, len(t.parts))] {
		text := p.text.String()
		if i == at.part {
			text = text[:at.at]
		}
		if text != "" {
			before.Add(Join(p.kind, text))
		}
	}
	return before
}
