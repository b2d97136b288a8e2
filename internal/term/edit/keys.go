package edit

import (
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/term/keymap"
)

// Key is a pressed key.
type Key = keymap.Key

// Result is what a key did.
type Result int

const (
	// Ignored means that the key has no meaning here, so that the program can use it.
	Ignored Result = iota
	// Handled means that the text, the cursor or the search may have changed.
	Handled
	// Submit means that the user sends the text; the program calls [Editor.Take].
	Submit
)

// A command is what a key does. Its kind tells the next command what came before.
type command struct {
	do     func(*Editor)
	kind   kind
	submit bool
}

type kind int

const (
	other kind = iota
	types
	moves // up and down
	kills
	yanks
)

// Press handles one key.
func (e *Editor) Press(k Key) Result {
	if e.search != nil {
		if r, done := e.pressInSearch(k); done {
			return r
		}
	}
	c, ok := e.keymap(e, k)
	if !ok {
		return Ignored
	}
	if c.kind != moves {
		e.goal = -1
	}
	changes := len(e.undo)
	if c.do != nil {
		e.chain = false
		c.do(e)
	}
	if c.kind != kills || len(e.undo) > changes { // killing nothing does not begin an entry of the ring
		e.last = c.kind
	}
	if c.submit {
		return Submit
	}
	return Handled
}

// typed inserts typed text. A word with the space before it is one step of undo.
func (e *Editor) typed(text string) {
	cells := split(clean(text))
	first := len(cells) == 0 || cells[0].isSpace() && e.cursor > 0 && !e.text[e.cursor-1].isSpace()
	e.chain = e.last == types && !first
	e.insert(cells)
	e.chain = false
}

// enter submits the text. If a backslash is before the cursor, it becomes a line break.
func (e *Editor) enter() command {
	if e.cursor > 0 && e.text[e.cursor-1].text == `\` && !e.text[e.cursor-1].paste {
		return edits(func(e *Editor) { e.replace(e.cursor-1, e.cursor, []cell{newline}) })
	}
	return command{submit: true}
}

func edits(do func(*Editor)) command { return command{do: do} }

// killing returns the command that kills the text between the cursor and an index.
func killing(to func(*Editor) int) command {
	return command{do: func(e *Editor) { e.kill(to(e)) }, kind: kills}
}

func going(to func(*Editor) int) command {
	return command{do: func(e *Editor) { e.cursor = min(max(to(e), 0), len(e.text)) }}
}

var (
	breakLine = edits(func(e *Editor) { e.insert([]cell{newline}) })
	goLeft    = going(func(e *Editor) int { return e.cursor - 1 })
	goRight   = going(func(e *Editor) int { return e.cursor + 1 })
	goUp      = command{do: func(e *Editor) { e.vertical(-1) }, kind: moves}
	goDown    = command{do: func(e *Editor) { e.vertical(+1) }, kind: moves}
	rubout    = edits(func(e *Editor) { e.remove(e.cursor - 1) })
	deletes   = edits(func(e *Editor) { e.remove(e.cursor + 1) })
	goStart   = going(func(*Editor) int { return 0 })
	goEnd     = going(func(e *Editor) int { return len(e.text) })
)

// readline is the keymap of readline, with keys for a text of several lines.
func readline(e *Editor, k Key) (command, bool) {
	word := k.Alt || k.Ctrl
	switch k.Name {
	case "":
	case "enter":
		if k.Alt || k.Shift || k.Ctrl {
			return breakLine, true
		}
		return e.enter(), true
	case "backspace":
		if word {
			return killing((*Editor).wordStart), true
		}
		return rubout, true
	case "delete":
		if word {
			return killing((*Editor).wordEnd), true
		}
		return deletes, true
	case "left":
		if word {
			return going((*Editor).wordStart), true
		}
		return goLeft, true
	case "right":
		if word {
			return going((*Editor).wordEnd), true
		}
		return goRight, true
	case "home":
		if word {
			return goStart, true
		}
		return going((*Editor).lineStart), true
	case "end":
		if word {
			return goEnd, true
		}
		return going((*Editor).lineEnd), true
	case "up":
		return goUp, !word
	case "down":
		return goDown, !word
	case "space":
		if k.Text == "" && !word {
			k.Text = " "
		}
	default:
		return command{}, false
	}
	switch {
	case k.Ctrl && k.Alt:
		return command{}, false
	case k.Ctrl:
		return e.control(unicode.ToLower(k.Code))
	case k.Alt:
		return e.meta(unicode.ToLower(k.Code))
	case k.Text != "":
		return command{do: func(e *Editor) { e.typed(k.Text) }, kind: types}, true
	}
	return command{}, false
}

// control returns the command of a key with Ctrl.
func (e *Editor) control(r rune) (command, bool) {
	switch r {
	case 'a':
		return going((*Editor).lineStart), true
	case 'e':
		return going((*Editor).lineEnd), true
	case 'b':
		return goLeft, true
	case 'f':
		return goRight, true
	case 'p':
		return goUp, true
	case 'n':
		return goDown, true
	case 'd':
		return deletes, len(e.text) > 0 // in an empty editor, it can end the program
	case 'h':
		return rubout, true
	case 'j':
		return breakLine, true
	case 'k':
		return command{do: (*Editor).killLineEnd, kind: kills}, true
	case 'u':
		return command{do: (*Editor).killLineStart, kind: kills}, true
	case 'w':
		return killing((*Editor).blankStart), true
	case 'y':
		return command{do: (*Editor).yankLast, kind: yanks}, true
	case 't':
		return edits((*Editor).transpose), true
	case 'r':
		return edits((*Editor).beginSearch), e.history.Len() > 0
	case '_', '/', '-', '7': // terminals send the same byte for all of them
		return edits((*Editor).Undo), true
	}
	return command{}, false
}

// meta returns the command of a key with Alt.
func (e *Editor) meta(r rune) (command, bool) {
	switch r {
	case 'b':
		return going((*Editor).wordStart), true
	case 'f':
		return going((*Editor).wordEnd), true
	case 'd':
		return killing((*Editor).wordEnd), true
	case 'y':
		return command{do: (*Editor).yankOlder, kind: yanks}, e.last == yanks
	case '/': // as in fish
		return edits((*Editor).Redo), true
	case '<':
		return goStart, true
	case '>':
		return goEnd, true
	}
	return command{}, false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
