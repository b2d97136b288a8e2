// Package pager is a page that scrolls, folds its sections and finds text. It is for the alternate
// screen, reads no keys and knows no terminal.
//
//	keys ──▶ Pager ──▶ View: lines and cursor
//	          ▲  ▲
//	      Set │  │ Lines(width), when it is needed
//	        sections
//
//	p := pager.New(&pager.Options{Title: "Session", Sections: sections, End: true})
//	switch p.Press(key) {
//	case pager.Closed:
//	case pager.Open:
//		edit(p.Text())
//	}
//	lines, row, col := p.View(80, 24)
//
// Titles and lines may have colors and links; who makes them escapes what is not trusted.
package pager

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
)

// Section is a part of a page. A section with a title can be folded to its title.
type Section struct {
	ID     string // says which section it is when the sections change; default its place
	Title  string // one line; "" for a part that cannot be folded
	Folded bool   // whether it is folded at first
	// Lines returns the lines of the section for a width, without the title. It is called when the
	// section is first visible or searched, and again for another width or version. A long page has
	// many sections, so that a new line does not make all lines again.
	Lines   func(width int) []string
	Version int
}

// Options configures a pager.
type Options struct {
	Title    string
	Sections []Section
	End      bool        // start at the end of the page
	Keys     *keymap.Map // for hints
}

// Pager is a page with a position. It is not safe for concurrent use.
type Pager struct {
	title  string
	keys   *keymap.Map
	parts  []*part
	rows   int  // of the whole page
	stale  bool // the rows must be counted again
	width  int
	height int  // of the page, without the status line
	top    int  // the first visible row
	end    bool // the page stays at its end while lines arrive
	focus  int  // the section that Enter folds, or -1
	query  string
	exact  bool         // the case of the query matters
	found  *place       // the match that was found last
	box    *edit.Editor // the query while it is typed, or nil
	notice string       // until the next key
}

// part is a section with its state.
type part struct {
	Section
	folded bool
	lines  []string
	made   bool // lines are valid
	start  int  // row of its first line
}

// place is a line of a section; line 0 is the title if there is one.
type place struct{ part, line int }

// New returns a pager.
func New(o *Options) *Pager {
	if o == nil {
		o = &Options{}
	}
	p := &Pager{title: o.Title, keys: o.Keys, end: o.End, focus: -1, width: 80, height: 23}
	p.Set(o.Sections)
	return p
}

// Set replaces the sections, for example when lines arrive. Sections that were there keep whether
// they are folded. If the end of the page was visible, it stays visible.
func (p *Pager) Set(sections []Section) {
	old := make(map[string]*part, len(p.parts))
	for i, s := range p.parts {
		old[s.id(i)] = s
	}
	at := p.anchor()
	p.parts = make([]*part, len(sections))
	for i, s := range sections {
		fresh := &part{Section: s, folded: s.Folded && s.Title != ""}
		if was := old[fresh.id(i)]; was != nil {
			fresh.folded = was.folded && s.Title != ""
			if was.Version == s.Version {
				fresh.lines, fresh.made = was.lines, was.made
			}
		}
		p.parts[i] = fresh
	}
	p.found, p.stale = nil, true
	p.focus = min(p.focus, len(p.parts)-1)
	p.restore(at)
}

func (s *part) id(i int) string {
	if s.ID == "" {
		return "#" + strconv.Itoa(i)
	}
	return s.ID
}

// Text returns the text of the whole page, folded sections included, without colors.
func (p *Pager) Text() string {
	var b strings.Builder
	for _, s := range p.parts {
		p.make(s)
		for i := range s.all() {
			b.WriteString(ansi.Strip(s.line(i)) + "\n")
		}
	}
	return b.String()
}

// AtEnd reports whether the end of the page is visible.
func (p *Pager) AtEnd() bool {
	p.settle()
	return p.top+p.height >= p.rows
}

// Typing reports whether the user types what to find.
func (p *Pager) Typing() bool { return p.box != nil }

// Rows returns how many rows the page has.
func (p *Pager) Rows() int {
	p.count()
	return p.rows
}

// head is the number of title lines.
func (s *part) head() int {
	if s.Title == "" {
		return 0
	}
	return 1
}

// all is the number of lines of the section when it is not folded.
func (s *part) all() int { return s.head() + len(s.lines) }

// visible is the number of rows that the section takes.
func (s *part) visible() int {
	if s.folded {
		return s.head()
	}
	return s.all()
}

func (s *part) line(i int) string {
	if i < s.head() {
		return s.Title
	}
	return s.lines[i-s.head()]
}

func (p *Pager) make(s *part) {
	if !s.made && s.Lines != nil {
		s.lines = s.Lines(p.width)
	}
	s.made = true
}

// count finds the row at which each section starts.
func (p *Pager) count() {
	if !p.stale {
		return
	}
	p.stale, p.rows = false, 0
	for _, s := range p.parts {
		if !s.folded {
			p.make(s)
		}
		s.start = p.rows
		p.rows += s.visible()
	}
}

// at returns the place of a row. The row must exist.
func (p *Pager) at(row int) place {
	i, found := slices.BinarySearchFunc(p.parts, row, func(s *part, row int) int {
		if s.start+s.visible() <= row { // also for an empty section
			return -1
		}
		if s.start > row {
			return 1
		}
		return 0
	})
	if !found {
		return place{}
	}
	return place{i, row - p.parts[i].start}
}

// anchor is what stays at the top of the screen when rows change.
type anchor struct {
	place
	of int    // lines of the section if they change with the width; otherwise 0
	id string // of the section
	ok bool
}

func (p *Pager) anchor() anchor {
	p.count()
	if p.top >= p.rows {
		return anchor{}
	}
	at := p.at(p.top)
	s := p.parts[at.part]
	return anchor{at, 0, s.id(at.part), true}
}

// restore scrolls to an anchor.
func (p *Pager) restore(a anchor) {
	p.count()
	if !a.ok || p.end {
		p.settle()
		return
	}
	i := a.part
	if i >= len(p.parts) || p.parts[i].id(i) != a.id {
		i = slices.IndexFunc(p.parts, func(s *part) bool { return s.ID == a.id })
	}
	if i >= 0 {
		s, line := p.parts[i], a.line
		if a.of > s.head() && line >= s.head() {
			line = s.head() + (line-s.head())*len(s.lines)/(a.of-s.head())
		}
		p.top = s.start + min(line, max(0, s.visible()-1))
	}
	p.settle()
}

// settle keeps the position inside the page and the focus on the screen.
func (p *Pager) settle() {
	p.count()
	last := max(0, p.rows-p.height)
	if p.end {
		p.top = last
	}
	p.top = min(max(p.top, 0), last)
	if p.focus >= 0 && p.focus < len(p.parts) {
		if s := p.parts[p.focus]; s.Title != "" && s.start >= p.top && s.start < p.top+p.height {
			return
		}
	}
	p.focus = -1
	if p.rows == 0 {
		return
	}
	first := p.at(p.top).part
	for i := first; i < len(p.parts) && p.parts[i].start < p.top+p.height; i++ {
		if p.parts[i].Title != "" && (p.focus < 0 || p.focus == first && p.parts[first].start < p.top) {
			p.focus = i
		}
	}
}
