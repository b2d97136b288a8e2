package input

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// Decoder turns the bytes of a terminal into events. It waits until a key or sequence is complete, so
// that the events do not depend on how the bytes are split over reads. The zero value is ready.
type Decoder struct {
	events  uv.EventDecoder
	buf     []byte // an incomplete key or sequence
	paste   []byte
	pasting bool
}

const (
	esc      = 0x1b
	pasteEnd = "\x1b[201~"

	// escapeDelay is how long a byte that starts a sequence waits to be one. After it, the byte is a
	// key. The terminal sends a sequence at once, but a network can split it.
	escapeDelay = 25 * time.Millisecond
	// sequenceDelay is the same for a sequence that has more than two bytes.
	sequenceDelay = 500 * time.Millisecond

	// replyDelay is the same for a reply of the terminal that has begun: its rest must not become typed text.
	replyDelay = 3 * time.Second
)

// Feed adds bytes and returns the events that they complete. It drops invalid UTF-8, control
// characters beyond ASCII and sequences that are no event of this package.
func (d *Decoder) Feed(b []byte) (events []uv.Event) {
	d.buf = append(d.buf, b...)
	for len(d.buf) > 0 {
		if d.pasting {
			text, ok := d.pasted()
			if !ok {
				break
			}
			events = append(events, uv.PasteEvent{Content: text})
			continue
		}
		n := token(d.buf)
		if n == 0 {
			break
		}
		events = d.decode(events, d.buf[:n])
		d.buf = d.buf[n:]
	}
	if len(d.buf) == 0 {
		d.buf = nil
	}
	return events
}

// Flush returns the events of an incomplete sequence when no more bytes have arrived for a while: an
// Escape key, or Alt with the key that starts a sequence. A sequence that has begun otherwise is
// dropped. An open paste stays open.
func (d *Decoder) Flush() (events []uv.Event) {
	b := d.buf
	if d.pasting || len(b) == 0 {
		return nil
	}
	d.buf = nil
	if b[0] != esc {
		return nil
	}
	if len(b) > 1 && b[1] == esc {
		return append(events, escape, escape)
	}
	if len(b) <= 2 && (len(b) == 1 || b[1] < 0x80) {
		return d.append(events, first(d.alt(b)))
	}
	return nil
}

var escape = uv.KeyPressEvent{Code: uv.KeyEscape}

func first(_ int, e uv.Event) uv.Event { return e }

// alt decodes Escape, or Alt with a key that also starts a sequence.
func (d *Decoder) alt(b []byte) (int, uv.Event) {
	if len(b) == 1 {
		return 1, escape
	}
	_, e := d.events.Decode(b[1:])
	if k, ok := e.(uv.KeyPressEvent); ok {
		k.Text, k.Mod = "", k.Mod|uv.ModAlt
		return 2, k
	}
	return 1, escape
}

// Wait returns how long to wait for the rest of an incomplete key or sequence before [Decoder.Flush].
// It is 0 if nothing is incomplete.
func (d *Decoder) Wait() time.Duration {
	switch {
	case d.pasting || len(d.buf) == 0:
		return 0
	case len(d.buf) <= 2: // it can be a key by itself
		return escapeDelay
	case strings.IndexByte("]P_^X", d.buf[1]) >= 0:
		return replyDelay
	}
	return sequenceDelay
}

// pasted returns the pasted text if its end has arrived.
func (d *Decoder) pasted() (string, bool) {
	from := max(0, len(d.paste)-len(pasteEnd))
	d.paste, d.buf = append(d.paste, d.buf...), nil
	i := bytes.Index(d.paste[from:], []byte(pasteEnd))
	if i < 0 {
		return "", false
	}
	text := strings.ToValidUTF8(string(d.paste[:from+i]), "")
	d.buf = d.paste[from+i+len(pasteEnd):]
	d.paste, d.pasting = nil, false
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), true // terminals send Return for a newline
}

// decode appends the events of one complete key or sequence.
func (d *Decoder) decode(events []uv.Event, b []byte) []uv.Event {
	if b[0] >= 0x80 {
		if r, _ := utf8.DecodeRune(b); r == utf8.RuneError && len(b) == 1 || unicode.IsControl(r) {
			return events
		}
	}
	if len(b) == 1 && b[0] == esc {
		return append(events, escape)
	}
	if len(b) == 4 && b[1] == '[' && b[2] == '[' && b[3] >= 'A' && b[3] <= 'E' { // the Linux console
		return append(events, uv.KeyPressEvent{Code: uv.KeyF1 + rune(b[3]-'A')})
	}
	n, e := d.events.Decode(b)
	if n != len(b) { // the sequence is malformed
		return events
	}
	return d.append(events, e)
}

// append keeps the events that a program acts on. Replies of the terminal to other questions and
// unknown sequences are dropped.
func (d *Decoder) append(events []uv.Event, e uv.Event) []uv.Event {
	switch e := e.(type) {
	case uv.MultiEvent:
		for _, e := range e {
			events = d.append(events, e)
		}
	case uv.PasteStartEvent:
		d.pasting = true
	case uv.KeyPressEvent:
		if strings.ContainsFunc(e.Text, unicode.IsControl) {
			e.Text = ""
		}
		events = append(events, e)
	case uv.FocusEvent, uv.BlurEvent, uv.MouseWheelEvent, uv.MouseClickEvent, uv.MouseReleaseEvent, uv.MouseMotionEvent,
		uv.BackgroundColorEvent, uv.ForegroundColorEvent, uv.KeyboardEnhancementsEvent, uv.ModeReportEvent, uv.PrimaryDeviceAttributesEvent:
		events = append(events, e)
	}
	return events
}
