package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/render"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/live"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// previewLines is how many lines of a file are shown below its completion.
const previewLines = 6

// clearScreen is a finished row that stands for an empty screen.
const clearScreen = "\f"

// frame is what the terminal shows next.
type frame struct {
	rows   []string // for the scrollback, before the block
	lines  []string // the live block
	cursor *live.Position
	whole  bool // the block covers the screen
}

// frame returns the next frame and forgets the finished rows.
func (u *ui) frame() frame {
	if u.page != nil {
		lines, y, x := u.page.View(u.width, u.height)
		return frame{lines: lines, cursor: position(y, x), whole: true}
	}
	u.lookAround()
	u.runStatus()
	if u.full {
		return u.wholeFrame()
	}
	f := frame{rows: u.finished()}
	if n := u.past.omitted; n > 0 {
		f.rows = append([]string{u.look.Dim(fit(fmt.Sprintf("… %s not printed here: /transcript", term.Count(n, "row")), u.width))}, f.rows...)
		u.past.omitted = 0
	}
	bottom, cursor := u.bottom()
	top := u.top(max(0, u.height-len(bottom)))
	f.lines = append(top, bottom...)
	if cursor != nil {
		cursor.Y += len(top)
	}
	f.cursor = cursor
	return f
}

// finished returns the finished rows and forgets them.
func (u *ui) finished() []string {
	if u.answer != nil {
		u.printRows(true, u.answerRows(u.answer.Done(u.width)))
	}
	rows := u.rows
	u.rows = nil
	return rows
}

// top returns what the agent does now, in at most height lines.
func (u *ui) top(height int) []string {
	var lines []string
	if u.answer != nil {
		lines = u.answer.Live(u.width)
		if len(lines) > 0 && !u.shown {
			lines = append([]string{""}, lines...)
		}
	}
	if u.inbox.Focused() || u.picker != nil {
		return lines[max(0, len(lines)-height):]
	}
	st := *u.conv.State()
	if u.own != nil {
		st.Calls = append(slices.Clone(st.Calls), u.own.call())
	}
	now := u.look.Live(&st, u.width, min(height, max(4, height*2/3)), u.now())
	if len(now) > 0 {
		now = append([]string{""}, now...)
	}
	keep := max(0, height-len(now))
	lines = append(lines[max(0, len(lines)-keep):], now...)
	return lines[max(0, len(lines)-height):]
}

// bottom returns the part below: a question or a list, the box, and the status line.
func (u *ui) bottom() (lines []string, cursor *live.Position) {
	switch {
	case u.picker != nil:
		list, y, x := u.picker.View(u.width, min(u.height-1, max(8, u.height*2/3)))
		return append([]string{""}, list...), position(y+1, x)
	case u.inbox.Focused():
		list, at := u.inbox.View(u.width, max(6, u.height-2), u.now())
		lines = append([]string{""}, list...)
		if at != nil {
			cursor = &live.Position{X: at.X, Y: at.Y + 1}
		}
		return append(lines, u.statusRows()...), cursor
	}
	waits, _ := u.inbox.View(u.width, 1, u.now())
	lines = append(lines, waits...)
	sending := slices.Clone(u.early)
	for _, m := range u.waiting {
		sending = append(sending, m.text)
	}
	for _, w := range sending {
		w, _ = record.CutCommands(w)
		lines = append(lines, u.look.Dim(fit("sending  "+term.Escape(term.OneLine(w)), u.width)))
	}
	lines = append(lines, u.look.Rule(u.width))
	mode := u.viMode()
	indent := 2 + len(mode)
	rows, y, x := u.box.View(u.width - indent)
	most := max(3, u.height/2)
	from := max(0, min(y-most+1, len(rows)-most))
	top := len(lines)
	for i, r := range rows[from:min(len(rows), from+most)] {
		sign := strings.Repeat(" ", indent)
		if i == 0 && from == 0 {
			sign = u.look.Dim(mode) + u.look.Prompt()
		}
		if u.box.Empty() {
			r = u.look.Dim(r)
		}
		lines = append(lines, sign+r)
	}
	cursor = position(top+y-from, x+indent)
	lines = append(lines, u.look.Rule(u.width))
	if u.popup != nil {
		list, _, _ := u.popup.View(u.width, 8)
		lines = append(lines, list...)
		if it, ok := u.popup.Selected(); ok && it.Preview != nil {
			lines = append(lines, u.look.Rule(u.width))
			lines = append(lines, it.Preview(u.width, previewLines)...)
		}
		return lines, cursor
	}
	return append(lines, u.statusRows()...), cursor
}

// viMode returns the mode of vi as it is shown before the box.
func (u *ui) viMode() string {
	if m := u.box.Mode(); m != "" {
		return m + " "
	}
	return ""
}

// position returns the place of the cursor, or nil if there is none in the view.
func position(y, x int) *live.Position {
	if y < 0 {
		return nil
	}
	return &live.Position{X: x, Y: y}
}

// statusRows returns the lines below the box.
func (u *ui) statusRows() []string {
	if u.tip != "" {
		return []string{u.look.Dim(fit(term.Escape(term.OneLine(u.tip)), u.width))}
	}
	if lost := u.conv.State().Lost; lost != nil {
		return []string{u.look.Warn(fit(term.Escape(term.OneLine("the daemon does not answer, trying again: "+lost.Error())), u.width))}
	}
	if u.err != nil {
		return []string{u.look.Warn(fit(term.Escape(term.OneLine(u.err.Error())), u.width-2))}
	}
	if lines := u.status.view(u.look.Style, u.width); lines != nil && !u.look.Plain {
		return lines
	}
	return []string{u.look.Status(u.parts(), u.width)}
}

// parts are the parts of the status line.
func (u *ui) parts() render.Status {
	st := u.conv.State()
	s := render.Status{
		Model: cmp.Or(u.model, st.Model), Mode: string(u.currentMode()), Context: st.Usage.Context, Window: u.window(), CostUSD: st.Usage.CostUSD, DayUSD: u.dayUSD(),
		BudgetUSD: st.Usage.BudgetUSD, Queue: len(st.Queue), Branch: u.around.branch, Questions: len(st.Questions),
	}
	if u.s != nil {
		s.Sandbox, s.Daemon = u.s.Sandbox(), u.s.About().Daemon
	}
	return s
}

func fit(s string, width int) string {
	if strings.ContainsRune(s, '\n') {
		s = term.OneLine(s)
	}
	return paint.Clip(s, width)
}
