package runs

import (
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
)

// streamMasker masks secrets in what streams before its item is on disk, as they are masked in
// the item. A piece is held back until its last word is whole, and a key in several
// lines until its end; so a secret that comes in pieces is known when it is told.
//
// It belongs to the goroutine of the agent's loop.
type streamMasker struct {
	mask    *secret.Masker
	of      event.Event // the kind of pieces that are held back, without their text
	pending string      // of the line so far
	emitted string      // what of it was told, masked
}

// The lines around a key in several lines.
const (
	dashes    = "-----"
	keyBegins = dashes + "BEGIN "
	keyEnds   = dashes + "END "
)

// maxHeld bounds what is held back, in bytes.
const maxHeld = 16 << 10

// write returns what may be told once e has come: e itself, or pieces.
func (v *streamMasker) write(e event.Event) []event.Event {
	if v.mask == nil {
		return []event.Event{e}
	}
	kind, text := piece(e)
	if kind == nil {
		return append(v.flush(), v.masked(e))
	}
	var out []event.Event
	if kind != v.of {
		out = v.flush()
		v.of = kind
	}
	v.pending += text
	return append(out, v.emit(completePrefix(v.pending))...)
}

// masked is an event that comes whole.
func (v *streamMasker) masked(e event.Event) event.Event {
	switch e := e.(type) {
	case event.Notice:
		e.Text, _ = v.mask.Text(e.Text)
		return e
	case event.Result:
		e.Text, _ = v.mask.Text(e.Text)
		return e
	}
	return e
}

// flush tells what is held back.
func (v *streamMasker) flush() []event.Event {
	out := v.emit(len(v.pending))
	v.of, v.pending, v.emitted = nil, "", ""
	return out
}

// emit tells the line up to end, as far as it was not told.
func (v *streamMasker) emit(end int) []event.Event {
	masked, _ := v.mask.Text(v.pending[:end])
	more, follows := strings.CutPrefix(masked, v.emitted)
	v.emitted = masked
	if i := strings.LastIndexByte(v.pending[:end], '\n') + 1; i > 0 { // what a line holds is known by itself
		v.pending = v.pending[i:]
		v.emitted, _ = v.mask.Text(v.pending[:end-i])
	}
	if !follows || more == "" {
		return nil
	}
	return []event.Event{withText(v.of, more)}
}

// completePrefix is how much of a text holds nothing that could be the beginning of a secret.
func completePrefix(text string) int {
	i := strings.LastIndexAny(text, " \t\n") + 1
	if key := strings.LastIndex(text, keyBegins); key >= 0 && len(text)-key < maxHeld {
		_, last, _ := strings.Cut(text[key:], keyEnds)
		_, behind, ended := strings.Cut(last, dashes)
		if !ended {
			return key
		}
		return max(i, len(text)-len(behind))
	}
	if len(text)-i > maxHeld {
		return len(text)
	}
	return i
}

// piece takes a provisional piece apart: its kind, and its text. The kind is nil for
// anything else.
func piece(e event.Event) (kind event.Event, text string) {
	switch e := e.(type) {
	case event.TextDelta:
		return event.TextDelta{}, e.Text
	case event.ThinkingDelta:
		return event.ThinkingDelta{}, e.Text
	case event.ToolInputDelta:
		return event.ToolInputDelta{Use: e.Use, Tool: e.Tool}, e.JSON
	}
	return nil, ""
}

func withText(kind event.Event, text string) event.Event {
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
	}
	return kind
}
