package inbox

import (
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// Press handles a key while the inbox has the focus. It ignores keys that have no meaning here;
// those with text are for the input box.
func (i *Inbox) Press(k edit.Key) edit.Result {
	e := i.current
	if !i.Focused() || e.dialog == nil {
		return edit.Ignored
	}
	i.notice = ""
	if i.Editing() {
		return i.pressInLine(e, k)
	}
	if k.Ctrl || k.Alt {
		return edit.Ignored
	}
	if i.scroll(e, k.Name) {
		return edit.Handled
	}
	switch k.Name {
	case "left", "right", "tab":
		if len(i.open()) < 2 || k.Shift {
			return edit.Ignored
		}
		i.move(map[string]int{"left": -1, "right": 1, "tab": 1}[k.Name])
		return edit.Handled
	case "esc":
		if !e.began {
			return edit.Ignored
		}
		e.restart()
		return edit.Handled
	case "enter": // alone, it is not an answer
		i.tell("press one of the keys below")
		return edit.Handled
	case "", "space":
		return i.pressLetter(e, k)
	}
	return edit.Ignored
}

// pressLetter handles a key that types something: an answer, or the beginning of a message.
func (i *Inbox) pressLetter(e *entry, k edit.Key) edit.Result {
	space := k.Name == "space" || k.Text == " "
	switch {
	case i.seen.entry != e || i.seen.questions != e.dialog.Questions() || i.p.Clock().Sub(i.seen.since) < guard:
		if e.began || space { // for the question before, or to scroll: it must not begin a message
			return edit.Handled
		}
		return edit.Ignored
	case space:
		i.scroll(e, "pgdown")
		return edit.Handled
	case !e.read:
		if e.dialog.Offers(k.Text) {
			return edit.Handled
		}
		return edit.Ignored
	}
	return i.feed(e, k.Text)
}

// feed gives a dialog a key or a line. A dialog that the user has begun takes all keys, also those without a meaning.
func (i *Inbox) feed(e *entry, text string) edit.Result {
	if !e.dialog.Feed(text) {
		if e.began { // the text is hardly the beginning of a message
			i.tell("press one of the keys below")
			return edit.Handled
		}
		return edit.Ignored
	}
	e.began, e.note = true, ""
	i.afterKey(e)
	e.offset = atEnd
	return edit.Handled
}

// pressInLine handles a key while the user writes a line.
func (i *Inbox) pressInLine(e *entry, k edit.Key) edit.Result {
	switch r := e.line.Press(k); {
	case r == edit.Submit:
		return i.feed(e, e.line.Take().Text)
	case r == edit.Handled:
		return r
	case k.Name == "esc":
		e.restart()
		return edit.Handled
	case i.scroll(e, k.Name):
		return edit.Handled
	}
	return edit.Ignored
}

// Paste handles pasted text. It is never an answer, only text in a line.
func (i *Inbox) Paste(text string) edit.Result {
	if !i.Editing() {
		return edit.Ignored
	}
	i.current.line.Paste(text)
	return edit.Handled
}

// atEnd is an offset that shows the last lines.
const atEnd = 1 << 30

// scroll moves the text of a question, if it is longer than its view.
func (i *Inbox) scroll(e *entry, key string) bool {
	if e.lines.room == 0 || len(e.lines.text) <= e.lines.room {
		return false
	}
	page := max(e.lines.room-1, 1)
	switch key {
	case "up":
		e.offset--
	case "down":
		e.offset++
	case "pgup":
		e.offset -= page
	case "pgdown":
		e.offset += page
	case "home":
		e.offset = 0
	case "end":
		e.offset = atEnd
	default:
		return false
	}
	e.clamp()
	return true
}

// clamp keeps the offset within the text. At its end, the user has read the text.
func (e *entry) clamp() {
	last := max(len(e.lines.text)-e.lines.room, 0)
	e.offset = max(min(e.offset, last), 0)
	if e.offset == last {
		e.read = true
	}
}

// needsScroll reports whether keys answer only after the user has scrolled.
func (e *entry) needsScroll() bool { return e.needs() == term.NeedsKey && !e.read }
