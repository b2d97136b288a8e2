package pager

import (
	"unicode"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// Result is what a key did.
type Result int

const (
	// Ignored means that the key has no meaning here, so that the program can use it.
	Ignored Result = iota
	// Handled means that the view may have changed.
	Handled
	// Closed means that the user closes the page.
	Closed
	// Open means that the user wants the page in an editor: [Pager.Text], or the focused section.
	Open
)

// Press handles one key.
func (p *Pager) Press(k edit.Key) Result {
	p.notice = ""
	if p.box != nil {
		return p.pressInQuery(k)
	}
	name := k.Name
	switch {
	case k.Ctrl && name == "":
		name = "ctrl+" + string(unicode.ToLower(k.Code))
	case k.Alt:
		return Ignored
	case k.Text == " ":
		name = "space"
	case name == "":
		name = k.Text
	}
	p.settle()
	switch name {
	case "q", "esc", "ctrl+c":
		return Closed
	case "o":
		return Open
	case "down", "j", "ctrl+n":
		p.scroll(1)
	case "up", "k", "ctrl+p":
		p.scroll(-1)
	case "pgdown", "space", "f", "ctrl+f":
		p.scroll(p.page())
	case "pgup", "b", "ctrl+b":
		p.scroll(-p.page())
	case "d", "ctrl+d":
		p.scroll(max(1, p.height/2))
	case "u", "ctrl+u":
		p.scroll(-max(1, p.height/2))
	case "g", "home", "<":
		p.scroll(-p.rows)
	case "G", "end", ">":
		p.scroll(p.rows)
	case "enter", "tab":
		if k.Shift {
			return Ignored
		}
		p.fold()
	case "e":
		p.foldAll()
	case "]":
		p.next(+1)
	case "[":
		p.next(-1)
	case "/":
		p.box = edit.New(nil)
	case "n":
		p.find(+1)
	case "N":
		p.find(-1)
	default:
		return Ignored
	}
	return Handled
}

// page is how far a page key scrolls. One row stays visible.
func (p *Pager) page() int { return max(1, p.height-1) }

func (p *Pager) scroll(n int) {
	p.top += n
	p.end = n > 0 && p.top >= p.rows-p.height
	p.settle()
}

// fold folds or unfolds the focused section.
func (p *Pager) fold() {
	if p.focus < 0 {
		return
	}
	s := p.parts[p.focus]
	s.folded, p.stale, p.end = !s.folded, true, false
	p.count()
	if s.start < p.top {
		p.top = s.start
	}
	p.settle()
}

// foldAll unfolds all sections, or folds them if none is folded.
func (p *Pager) foldAll() {
	a, folded := p.anchor(), false
	for _, s := range p.parts {
		folded = folded || s.folded
	}
	for _, s := range p.parts {
		s.folded = !folded && s.Title != ""
	}
	p.stale = true
	p.restore(a)
}

// next moves the focus to the next or the previous section with a title.
func (p *Pager) next(step int) {
	for i := p.focus + step; i >= 0 && i < len(p.parts); i += step {
		if s := p.parts[i]; s.Title != "" {
			p.focus = i
			p.show(s.start)
			return
		}
	}
}

// show scrolls to a row if it is not visible.
func (p *Pager) show(row int) {
	p.end = false
	if row < p.top || row >= p.top+p.height {
		p.top = row - p.height/3 // the lines before it help to understand it
	}
	p.settle()
}

// Paste adds pasted text to the query while it is typed.
func (p *Pager) Paste(text string) {
	if p.box != nil {
		p.box.Paste(oneLine(text))
	}
}

func (p *Pager) pressInQuery(k edit.Key) Result {
	switch {
	case k.Name == "enter" || k.Ctrl && k.Code == 'j':
		if query := p.box.Text(); query != "" { // an empty query repeats the last one
			p.search(query)
		}
		p.box = nil
		p.find(+1)
		return Handled
	case k.Name == "esc" || k.Ctrl && (k.Code == 'c' || k.Code == 'g'), k.Name == "backspace" && p.box.Empty():
		p.box = nil
		return Handled
	}
	if p.box.Press(k) == edit.Ignored {
		return Ignored
	}
	return Handled
}
