package runs

import (
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
)

// streamMasker masks secrets in streamed text in the same way as they are masked in the item that
// is stored later. It delays text until its last word is complete, and a multi-line key until its
// end. So it recognizes a secret that arrives in pieces.
//
// Only the goroutine of the agent's loop may use it.
type streamMasker struct {
	mask    *secret.Masker
	of      event.Event // the kind of the events that are delayed, without their text
	pending string      // the line so far
	emitted string      // the part of pending that was emitted, masked
}

// outputMaskers has a masker for each tool call whose output is published. What they hold back is
// dropped, because the result of the call contains it.
type outputMaskers map[string]*streamMasker

func (o *outputMaskers) write(mask *secret.Masker, e event.ToolOutputDelta) []event.Event {
	v := (*o)[e.Use]
	if v == nil {
		if *o == nil {
			*o = outputMaskers{}
		}
		v = &streamMasker{mask: mask}
		(*o)[e.Use] = v
	}
	return v.write(e)
}

// The lines around a multi-line key.
const (
	dashes    = "-----"
	keyBegins = dashes + "BEGIN "
	keyEnds   = dashes + "END "
)

// maxHeld is the maximum size of the text that is not emitted yet, in bytes.
const maxHeld = 16 << 10

// write returns the events that may be emitted after e has arrived: e itself, or parts of it.
func (v *streamMasker) write(e event.Event) []event.Event {
	if v.mask == nil {
		return []event.Event{e}
	}
	kind, text := deltas.Split(e)
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

// masked masks an event that is not streamed in parts.
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

// flush returns the events for the text that was delayed.
func (v *streamMasker) flush() []event.Event {
	out := v.emit(len(v.pending))
	v.of, v.pending, v.emitted = nil, "", ""
	return out
}

// emit returns the events for the part of pending[:end] that was not emitted yet.
func (v *streamMasker) emit(end int) []event.Event {
	masked, _ := v.mask.Text(v.pending[:end])
	more, follows := strings.CutPrefix(masked, v.emitted)
	v.emitted = masked
	if i := strings.LastIndexByte(v.pending[:end], '\n') + 1; i > 0 { // no secret continues on the next line here
		v.pending = v.pending[i:]
		v.emitted, _ = v.mask.Text(v.pending[:end-i])
	}
	if !follows || more == "" {
		return nil
	}
	return []event.Event{deltas.Join(v.of, more)}
}

// completePrefix returns the length of the prefix that cannot contain the beginning of a secret.
func completePrefix(text string) int {
	i := strings.LastIndexAny(text, " \t\n") + 1
	if key := strings.LastIndex(text, keyBegins); key >= 0 && len(text)-key < maxHeld {
		_, last, _ := strings.Cut(text[key:], keyEnds)
		_, rest, ended := strings.Cut(last, dashes)
		if !ended {
			return key
		}
		return max(i, len(text)-len(rest))
	}
	if len(text)-i > maxHeld {
		return len(text)
	}
	return i
}
