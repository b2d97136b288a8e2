package edit

// recall replaces the text by the entry of the history that is step entries further back. The
// text that was not sent comes back after the newest entry.
func (e *Editor) recall(step int) {
	back := e.back + step
	if back < 0 || back > e.history.Len() {
		return
	}
	if e.back == 0 {
		e.draft = newEntry(e.text)
	}
	if e.back = back; back == 0 {
		e.Set(e.draft)
	} else {
		e.Set(e.history.entry(back))
	}
}

// search is an incremental search, backwards in the history. The text of the editor stays as it is
// until the user accepts the match.
type search struct {
	query  string
	back   int // of the match; 0 if there is none yet
	match  []cell
	failed bool
}

func (s *search) prompt() string {
	if s.failed {
		return "search history, no match: " + s.query
	}
	return "search history: " + s.query
}

func (e *Editor) beginSearch() { e.search = &search{match: e.text} }

// searchFor starts again at the newest entry.
func (e *Editor) searchFor(query string) {
	e.search = &search{query: query, match: e.text}
	if query != "" {
		e.searchOn(+1)
	}
}

// searchOn goes to the next match: +1 is older, -1 is newer.
func (e *Editor) searchOn(step int) {
	s := e.search
	if s.query == "" {
		return
	}
	back := e.history.find(s.query, s.back, step)
	if s.failed = back == 0; !s.failed {
		s.back, s.match = back, e.history.entry(back).cells()
	}
}

// pressInSearch handles a key during a search. If done is false, the search has ended and the key
// is for the text.
func (e *Editor) pressInSearch(k Key) (r Result, done bool) {
	s := e.search
	letter := rune(0)
	if k.Ctrl && !k.Alt {
		letter = k.Code
	}
	switch {
	case letter == 'r':
		e.searchOn(+1)
	case letter == 's':
		e.searchOn(-1)
	case letter == 'g' || letter == 'c':
		e.search = nil
	case k.Name == "backspace" || letter == 'h':
		if cells := split(s.query); len(cells) > 0 {
			e.searchFor(join(cells[:len(cells)-1]))
		}
	case k.Name == "enter" && s.back == 0: // the text before the search is not what the user wants to send
	case k.Name == "esc" || k.Name == "tab":
		e.accept()
	case k.Text != "" && !k.Ctrl && !k.Alt && k.Name != "enter":
		e.searchFor(s.query + firstLine(clean(k.Text)))
	default:
		e.accept()
		return Handled, false
	}
	return Handled, true
}

// accept ends the search and takes the match as the text.
func (e *Editor) accept() {
	s := e.search
	e.search = nil
	if s.back == 0 {
		return
	}
	if e.back == 0 {
		e.draft = newEntry(e.text)
	}
	e.back = s.back
	e.Set(e.history.entry(s.back))
}
