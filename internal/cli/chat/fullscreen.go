package chat

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/pager"
)

// past is what was printed, for the whole screen: there, the program scrolls and lays out the lines
// again when the width changes.
type past struct {
	parts   []pastPart
	made    int // how many parts there were, for their ids
	changed bool
	page    *pager.Pager // nil before the first frame
	omitted int          // rows that waited for the normal screen and were too many
	rows    int          // of the page in the last frame
	width   int          // of the last frame
	unseen  int          // rows at the end of the page that came while the end was not visible
}

type pastPart struct {
	pager.Section
	draft bool // rows of an answer that is not finished
}

func (p *past) add(draft bool, lines func(width int) []string) {
	p.made++
	p.changed = true
	p.parts = append(p.parts, pastPart{pager.Section{ID: strconv.Itoa(p.made), Lines: lines}, draft})
	if len(p.parts) > 2*keptBlocks {
		p.parts = slices.Clone(p.parts[keptBlocks:])
	}
}

// layOutAgain makes all lines again, in other colors.
func (p *past) layOutAgain() {
	p.changed = true
	for i := range p.parts {
		p.parts[i].Version++
	}
}

// settle ends the draft of an answer: it stays as it is or, if its block follows, disappears.
func (p *past) settle(follows bool) {
	if follows {
		p.parts = slices.DeleteFunc(p.parts, func(s pastPart) bool { return s.draft })
		p.changed = true
	}
	for i := range p.parts {
		p.parts[i].draft = false
	}
}

// print prints rows.
func (u *ui) print(rows ...string) { u.printRows(false, rows) }

func (u *ui) printRows(draft bool, rows []string) {
	if len(rows) == 0 || u.printed {
		return
	}
	u.rows = append(u.rows, rows...)
	rows = slices.Clone(rows)
	u.past.add(draft, func(int) []string { return rows })
}

// printLaidOut prints rows that the whole screen lays out again for another width.
func (u *ui) printLaidOut(lines func(width int) []string) {
	if u.printed {
		return
	}
	u.rows = append(u.rows, lines(u.width)...)
	u.past.add(false, lines)
}

// printBlock prints a block, with an empty row before it where one separates blocks.
func (u *ui) printBlock(b *conversation.Block) {
	if i := slices.Index(u.typed, b.Text); i >= 0 && b.Kind == conversation.User {
		u.typed, u.last = slices.Delete(u.typed, i, i+1), b
		return
	}
	if !u.printed {
		u.rows = append(u.rows, u.pastBlock(b)(u.width)...)
	}
	u.last = b
}

// pastBlock adds a block to the past and returns its lines.
func (u *ui) pastBlock(b *conversation.Block) func(width int) []string {
	gap := u.look.Gap(u.last, b)
	lines := func(width int) []string {
		rows := u.look.Block(b, width)
		if gap {
			rows = append([]string{""}, rows...)
		}
		return rows
	}
	u.past.add(false, lines)
	return lines
}

// maxUnprinted is how many finished rows wait for the normal screen while the whole screen is used.
const maxUnprinted = 2000

// wholeFrame is the frame of the whole screen: what was printed, the live block and the box. The
// finished rows wait for the normal screen. At the end, the last ones are printed there.
func (u *ui) wholeFrame() frame {
	rows := u.finished()
	redraw := slices.Contains(rows, clearScreen)
	rows = slices.DeleteFunc(rows, func(r string) bool { return r == clearScreen })
	if u.leaving {
		return frame{rows: rows[max(0, len(rows)-u.height+1):]}
	}
	left := max(0, len(rows)-maxUnprinted)
	u.past.omitted += left
	u.rows = rows[left:]
	bottom, cursor := u.bottom()
	room := max(0, u.height-len(bottom))
	u.updatePast()
	most := room
	if !u.past.page.AtEnd() {
		most = room / 3
	}
	top := u.top(most)
	f := frame{lines: u.pastLines(room - len(top)), cursor: cursor, whole: true}
	f.lines = append(append(f.lines, top...), bottom...)
	if cursor != nil {
		cursor.Y += len(f.lines) - len(bottom)
	}
	if redraw {
		f.rows = []string{clearScreen}
	}
	return f
}

// updatePast gives the page what was printed since the last frame.
func (u *ui) updatePast() {
	p := &u.past
	if p.page == nil {
		p.page, p.changed = pager.New(&pager.Options{End: true}), true
	}
	if !p.changed {
		return
	}
	p.changed = false
	if p.page.AtEnd() {
		p.page.Press(edit.Key{Name: "end"}) // it follows
	}
	sections := make([]pager.Section, len(p.parts))
	for i, s := range p.parts {
		sections[i] = s.Section
	}
	p.page.Set(sections)
}

// pastLines returns height lines of what was printed. If the user has scrolled up, the last one says
// what is below.
func (u *ui) pastLines(height int) []string {
	p := &u.past
	if height <= 0 {
		return nil
	}
	view := func(n int) []string {
		lines, _, _ := p.page.View(u.width, n+1) // the last one is the status of the page
		return lines[:min(n, len(lines)-1)]
	}
	lines := view(height)
	before := p.rows
	if p.rows = p.page.Rows(); p.width == u.width { // otherwise the lines were laid out again
		p.unseen += p.rows - before
	}
	p.width = u.width
	if p.page.AtEnd() {
		p.unseen = 0
		return lines
	}
	hint := "↓ more below"
	if p.unseen > 0 {
		hint = "↓ " + term.Count(p.unseen, "new line")
	}
	return append(lines[:height-1], u.look.Dim(fit(fmt.Sprintf("%s · end goes there", hint), u.width)))
}

// scrollKey takes a key that scrolls the whole screen.
func (u *ui) scrollKey(k edit.Key) bool {
	if !u.full || k.Ctrl || k.Alt || u.past.page == nil {
		return false
	}
	switch k.Name {
	case "pgup", "pgdown":
	case "home", "end":
		if !u.box.Empty() {
			return false
		}
	case "up", "down":
		if !k.Shift {
			return false
		}
	default:
		return false
	}
	u.past.page.Press(edit.Key{Name: k.Name})
	return true
}

// wheelRows is how far a step of the mouse wheel scrolls.
const wheelRows = 3

// wheel scrolls the page that is shown, up or down.
func (u *ui) wheel(name string) {
	page := u.page
	if page == nil && u.full {
		page = u.past.page
	}
	for range wheelRows {
		if page != nil {
			page.Press(edit.Key{Name: name})
		}
	}
}

// toggleFullscreen is /fullscreen. The normal screen then gets the newest rows that it does not have.
func (u *ui) toggleFullscreen(string) {
	if u.look.Plain {
		u.say("the plain form only adds lines")
		return
	}
	u.full = !u.full
}

// toggleMouse is /mouse.
func (u *ui) toggleMouse(string) {
	switch u.mouse = !u.mouse; {
	case u.look.Plain:
		u.mouse = false
		u.say("the plain form has no mouse")
	case u.mouse:
		u.say("the wheel scrolls here; hold shift to select text")
	default:
		u.say("the terminal has the mouse")
	}
}
