package term

import (
	"strings"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term/input"
)

// draft is the text that the user is typing. It knows only the keys that edit at its end.
type draft struct {
	keys input.Decoder
	text string
}

// press processes one event of the keyboard and returns the name of the key if the draft does not
// handle it itself.
func (d *draft) press(e uv.Event) (name string) {
	switch e := e.(type) {
	case uv.PasteEvent:
		d.text += pastedText(e.Content)
	case uv.KeyPressEvent:
		switch name = e.Keystroke(); name {
		case "alt+enter", "shift+enter":
			d.text += "\n"
		case "tab":
			d.text += " "
		case "backspace", "ctrl+h":
			d.text = d.text[:len(d.text)-len(lastCluster(d.text))]
		case "ctrl+u":
			d.text = ""
		case "ctrl+w":
			kept := strings.TrimRightFunc(d.text, unicode.IsSpace)
			d.text = kept[:strings.LastIndexFunc(kept, unicode.IsSpace)+1]
		default:
			if e.Text == "" {
				return name
			}
			d.text += e.Text
		}
	}
	return ""
}

// take returns the text and starts a new one.
func (d *draft) take() string {
	text := strings.TrimSpace(d.text)
	d.text = ""
	return text
}

// pastedText returns pasted text without the sequences and control characters of a terminal.
func pastedText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(s))
}

// lastCluster returns the last grapheme cluster of a text: what the user sees as one character.
func lastCluster(s string) (last string) {
	for s != "" {
		last, _ = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(last):]
	}
	return last
}

// tail returns the end of a text as one line that fits in n columns.
func tail(s string, n int) string {
	if long := len(s) - 64*max(n, 1); long > 0 { // far more than fits, so that each key of a long text is as fast
		s = strings.ToValidUTF8(s[long:], "")
	}
	s = strings.NewReplacer("\n", "⏎", "\t", " ").Replace(Escape(s))
	if over := Width(s) - n; over > 0 {
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
