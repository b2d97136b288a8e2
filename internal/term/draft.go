package term

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// draft is one line that the user is typing. It decodes the bytes of the keyboard and knows only
// the keys that edit at the end of the line.
type draft struct {
	text    string
	char    []byte // the first bytes of an incomplete character
	esc     []byte // the first bytes of an incomplete escape sequence
	pasting bool   // pasted newlines do not end the line
}

// maxDraft is the maximum size of a draft in bytes; what is typed beyond it is ignored.
const maxDraft = 64 << 10

// feed processes one byte. If it was Enter, feed returns the line and starts a new one.
func (d *draft) feed(c byte) (line string, entered bool) {
	switch {
	case len(d.esc) > 0:
		d.escape(c)
	case c == 0x1b:
		d.esc = append(d.esc, c)
	case c == '\r' || c == '\n':
		if !d.pasting {
			line, d.text, d.char = strings.TrimSpace(d.text), "", nil
			return line, line != ""
		}
		d.join()
	case c == '\t':
		d.add(" ")
	case c == 0x7f || c == 0x08: // Backspace
		d.text = d.text[:len(d.text)-len(lastCluster(d.text))]
	case c == 0x15: // Ctrl-U
		d.text = ""
	case c == 0x17: // Ctrl-W
		kept := strings.TrimRightFunc(d.text, unicode.IsSpace)
		d.text = kept[:strings.LastIndexFunc(kept, unicode.IsSpace)+1]
	case c >= ' ':
		d.char = append(d.char, c)
		if utf8.FullRune(d.char) {
			d.add(strings.ToValidUTF8(string(d.char), ""))
			d.char = nil
		}
	}
	return "", false
}

// join adds a space in place of a pasted newline.
func (d *draft) join() {
	if d.text != "" && !strings.HasSuffix(d.text, " ") {
		d.add(" ")
	}
}

func (d *draft) add(text string) {
	if len(d.text)+len(text) <= maxDraft {
		d.text += text
	}
}

// escape processes the next byte of an escape sequence. Only the marks around pasted text have a
// meaning; other keys are ignored.
func (d *draft) escape(c byte) {
	d.esc = append(d.esc, c)
	switch kind := d.esc[1]; {
	case c == 0x1b && (len(d.esc) == 2 || kind == '[' || kind == 'O'): // a new sequence
		d.esc = d.esc[:1]
		return
	case kind == '[' && (len(d.esc) == 2 || c < 0x40 || c > 0x7e), kind == 'O' && len(d.esc) == 2:
		return
	case bytes.IndexByte([]byte("]P_^X"), kind) >= 0: // an answer of the terminal; it ends with BEL or ESC \
		if len(d.esc) == 2 || c != 0x07 && !bytes.HasSuffix(d.esc, []byte("\x1b\\")) {
			if len(d.esc) > 1<<10 { // only the end matters
				d.esc = append(d.esc[:2], c)
			}
			return
		}
	}
	switch string(d.esc) {
	case "\x1b[200~":
		d.pasting = true
	case "\x1b[201~":
		d.pasting = false
	}
	d.esc = nil
}

// silent is called when nothing followed the last byte for a while. It reports whether the user
// pressed Esc.
func (d *draft) silent() (escape bool) {
	escape = len(d.esc) == 1
	if escape {
		d.esc = nil
	}
	return escape
}

// lastCluster returns the last grapheme cluster of a text: what the user sees as one character.
func lastCluster(s string) (last string) {
	for s != "" {
		last, _ = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(last):]
	}
	return last
}

// tail returns the end of a text that fits in n columns.
func tail(s string, n int) string {
	if over := ansi.StringWidth(s) - n; over > 0 {
		return ansi.TruncateLeft(s, over+2, "…") // a wide character can be cut in half
	}
	return s
}

// column returns the column at which the cursor stands after a line of text, on a screen with this
// many columns. It is equal to columns if the line is full: the next character then wraps.
func column(line string, columns int) (col int) {
	var state byte
	for line != "" {
		seq, width, n, next := ansi.DecodeSequence(line, state, nil)
		if n == 0 {
			break
		}
		line, state = line[n:], next
		switch {
		case seq == "\t":
			col = min(col-col%8+8, columns-1)
		case col+width > columns: // the character has wrapped
			col = width
		default:
			col += width
		}
	}
	return col
}
