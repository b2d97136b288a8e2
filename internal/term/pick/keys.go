package pick

import (
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// Result is what a key did.
type Result int

const (
	// Ignored means that the key has no meaning here, so that the program can use it.
	Ignored Result = iota
	// Handled means that the query, the selection may have changed.
	Handled
	// Chosen means that the user wants the selected item.
	Chosen
	// Cancelled means that the user closes the list.
	Cancelled
)

// Press handles one key. In the compact list, keys that edit text are ignored.
func (p *Picker) Press(k edit.Key) Result {
	name := k.Name
	if k.Ctrl && !k.Alt && name == "" {
		name = "ctrl+" + string(unicode.ToLower(k.Code))
	}
	switch name {
	case "up", "ctrl+p":
		return p.move(-1, true)
	case "down", "ctrl+n":
		return p.move(+1, true)
	case "pgup":
		return p.move(-p.rows, false)
	case "pgdown":
		return p.move(p.rows, false)
	case "enter":
		if p.compact && (k.Alt || k.Shift || k.Ctrl) {
			return Ignored
		}
		return p.choose()
	case "tab":
		switch {
		case k.Ctrl || k.Alt:
			return Ignored
		case k.Shift:
			return p.move(-1, true)
		case p.compact:
			return p.choose()
		}
		return p.move(+1, true)
	case "esc":
		return Cancelled
	}
	if p.compact {
		return Ignored
	}
	switch name {
	case "ctrl+c", "ctrl+g":
		return Cancelled
	case "ctrl+d":
		if p.box.Empty() {
			return Cancelled
		}
	case "ctrl+j":
		return p.choose()
	}
	if p.box.Press(k) == edit.Ignored {
		return Ignored
	}
	p.Filter(p.box.Text())
	return Handled
}

// Paste adds pasted text to the query, as one line.
func (p *Picker) Paste(text string) {
	if p.compact {
		return
	}
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if i >= most {
			text = text[:i]
			break
		}
	}
	p.box.Paste(text)
	p.Filter(p.box.Text())
}

// choose chooses if there is something to choose. A compact list without an item leaves the key to
// the input box.
func (p *Picker) choose() Result {
	switch {
	case len(p.shown) > 0:
		return Chosen
	case p.compact:
		return Ignored
	}
	return Handled
}

// move moves the selection by n rows. A single step at the end of the list goes to its other end.
func (p *Picker) move(n int, wrap bool) Result {
	if len(p.shown) == 0 {
		if p.compact {
			return Ignored
		}
		return Handled
	}
	to := p.cursor + n
	if wrap && (to < 0 || to >= len(p.shown)) {
		to = (to + len(p.shown)) % len(p.shown)
	}
	p.cursor = min(max(to, 0), len(p.shown)-1)
	return Handled
}
