package inbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/live"
)

// minHeight is the height below which the view does not shrink: the caller cuts it at its top.
const minHeight = 6

// cache holds the lines of a question as the last View showed them.
type cache struct {
	width  int
	second int64 // the time at which the lines were made: they say how long the question is open
	text   []string
	prompt []string
	room   int // how many lines of the text fit
}

// View returns the current question, or one line that says how many questions wait if the inbox has
// no focus. It returns nothing if there is nothing to say. The cursor is nil if it is not here.
func (i *Inbox) View(width, height int, now time.Time) (lines []string, cursor *live.Position) {
	s := term.Style{Color: i.p.Err.Color}
	if now.Before(i.until) && i.notice != "" {
		lines = term.Wrap(s.Dim("· "+i.notice), width)
	}
	e := i.current
	switch {
	case e == nil && len(i.list) > 0:
		return append(lines, term.Clip(s.Dim("sending the answer…"), width)), nil
	case e == nil:
		return lines, nil
	case !i.focused:
		return append(lines, term.Clip(i.waiting(s), width)), nil
	}
	i.start(e)
	if e = i.current; e == nil || e.dialog == nil { // a dialog that ended at once
		return lines, nil
	}
	if n := e.dialog.Questions(); i.seen.entry != e || i.seen.questions != n {
		if i.seen.entry == e { // the next question of the same request
			e.offset, e.read = 0, false
		}
		i.seen = sight{e, n, now}
	}
	text, bottom, at := i.layOut(e, s, width, now)
	e.lines.text = text
	e.lines.room = max(max(height, minHeight)-len(lines)-len(bottom), 3)
	if len(text) > e.lines.room {
		e.lines.room = max(e.lines.room-1, 2) // for the line that says where the user is
	}
	e.clamp()
	if e.needs() != term.NeedsKey { // what the user has begun
		e.read = true
	}
	shown := text[e.offset:min(e.offset+e.lines.room, len(text))]
	lines = append(lines, shown...)
	switch below := len(text) - e.offset - len(shown); {
	case e.needsScroll():
		return append(lines, term.Wrap(s.Yellow(fmt.Sprintf("↓ %s below", term.Count(below, "line")))+s.Dim(" · read to the end to answer: ")+s.Bold(i.scrollKeys()), width)...), nil
	case len(text) > len(shown):
		lines = append(lines, term.Clip(s.Dim(fmt.Sprintf("lines %d-%d of %d · ↑↓", e.offset+1, e.offset+len(shown), len(text))), width))
	}
	if at != nil {
		at.Y += len(lines)
	}
	return append(lines, bottom...), at
}

// scrollKeys returns the keys that scroll by a page.
func (i *Inbox) scrollKeys() string {
	return strings.Replace(strings.Join(i.Keys.Keys("question.pageDown"), " or "), "pgdown", "pgdn", 1)
}

// waiting says how many questions wait.
func (i *Inbox) waiting(s term.Style) string {
	text := "1 question waits"
	if n := i.Len(); n > 1 {
		text = fmt.Sprintf("%d questions wait", n)
	}
	return s.Yellow(text) + s.Dim(" · "+i.Keys.Label("chat.question")+" · ") + term.EscapeStrict(i.current.name())
}

// layOut returns the text of a question, the lines below it, which always show, and the cursor in
// them.
func (i *Inbox) layOut(e *entry, s term.Style, width int, now time.Time) (text, bottom []string, at *live.Position) {
	if e.lines.width != width || e.lines.second != now.Unix() || e.lines.text == nil {
		e.lines.width, e.lines.second = width, now.Unix()
		e.lines.text, e.lines.prompt = e.dialog.View(width)
		if e.note != "" {
			e.lines.text = append(e.lines.text, term.Wrap(s.Red(term.EscapeStrict(term.OneLine(e.note))), width)...)
		}
		e.lines.text = i.numbered(e, s, e.lines.text, width)
	}
	text, bottom = e.lines.text, slices.Clone(e.lines.prompt)
	if len(bottom) == 0 {
		return text, nil, nil
	}
	last := len(bottom) - 1
	label := bottom[last]
	column := term.Width(label)
	if e.needs() != term.NeedsLine {
		return text, bottom, &live.Position{X: min(column, width-1), Y: last}
	}
	if column > width/2 { // the line gets all columns
		column = 0
		bottom, label = append(bottom, ""), ""
		last++
	}
	rows, row, col := e.line.View(width - column)
	bottom[last] = label + rows[0]
	for _, r := range rows[1:] {
		bottom = append(bottom, strings.Repeat(" ", column)+r)
	}
	return text, bottom, &live.Position{X: column + col, Y: last + row}
}

// numbered adds the number of a question to its first line, if there are others.
func (i *Inbox) numbered(e *entry, s term.Style, text []string, width int) []string {
	open := i.open()
	if len(open) < 2 {
		return text
	}
	arrows := strings.NewReplacer("left", "←", "right", "→").Replace(i.Keys.Label("question.previous") + "/" + i.Keys.Label("question.next"))
	count := fmt.Sprintf("%d of %d · %s", slices.Index(open, e)+1, len(open), arrows)
	if len(text) > 0 {
		if gap := width - term.Width(text[0]) - term.Width(count); gap >= 2 {
			text[0] += strings.Repeat(" ", gap) + s.Dim(count)
			return text
		}
	}
	return append([]string{term.Clip(s.Dim(count), width)}, text...)
}
