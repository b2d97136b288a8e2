package inbox

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// Whole is the current question for a user who types lines instead of keys. Nothing of it is left
// out, and it does not scroll.
type Whole struct {
	ID    string // of the approval request; "" if no question waits
	At    int    // its number among the open questions, from 1
	Of    int
	Lines []string
	Keys  []term.Key // that answer it; several digits are one entry, such as "1-4"
	Label string     // of the line that it waits for, if it waits for no key
}

// Whole returns the current question. The half second in which a new question takes no answer begins
// with this call. It takes the place of View.
func (i *Inbox) Whole(width int, now time.Time) Whole {
	for i.current != nil && i.current.dialog == nil {
		i.start(i.current)
	}
	e := i.current
	if e == nil {
		return Whole{}
	}
	if n := e.dialog.Questions(); i.seen.entry != e || i.seen.questions != n {
		i.seen = sight{e, n, now}
	}
	e.read = true
	open := i.open()
	w := Whole{ID: e.q.ID, At: slices.Index(open, e) + 1, Of: len(open), Keys: e.dialog.Keys()}
	lines, prompt := e.dialog.View(width)
	w.Lines = lines
	if e.note != "" {
		w.Lines = append(w.Lines, term.Wrap(term.EscapeStrict(term.OneLine(e.note)), width)...)
	}
	if e.needs() == term.NeedsLine {
		w.Label = strings.TrimRight(strings.Join(prompt, " "), " :")
	}
	return w
}

// Type answers the question that Whole returned: with one of its keys or, if it waits for a line,
// with the line. It ignores a key that comes too early.
func (i *Inbox) Type(text string) edit.Result {
	e := i.current
	if e == nil || e.dialog == nil || i.seen.entry != e {
		return edit.Ignored
	}
	if e.needs() == term.NeedsKey && (i.seen.questions != e.dialog.Questions() || i.p.Clock().Sub(i.seen.since) < guard) {
		return edit.Ignored
	}
	return i.feed(e, text)
}

// Next makes the next question current.
func (i *Inbox) Next() {
	if len(i.open()) > 1 {
		i.move(+1)
	}
}

// Restart asks the current question from its beginning. It reports false if the user has answered
// nothing of it yet.
func (i *Inbox) Restart() bool {
	if i.current == nil || !i.current.began {
		return false
	}
	i.current.restart()
	return true
}

// Notice returns what the user should know about questions that were closed elsewhere, once.
func (i *Inbox) Notice() string {
	text := i.notice
	i.notice = ""
	return text
}
