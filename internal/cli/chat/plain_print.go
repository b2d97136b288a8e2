package chat

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

func (l *plain) measure() { l.u.width = max(l.columns(), 20) }

// print adds what is new.
func (l *plain) print() error {
	u := l.u
	l.measure()
	var b strings.Builder
	add := func(lines ...string) {
		for _, t := range lines {
			b.WriteString(strings.TrimRight(t, " ") + "\n")
		}
	}
	if l.broken { // after the ^C of the terminal
		l.broken = false
		add("")
	}
	l.queue(add)
	for _, r := range u.finished() {
		if r != clearScreen {
			add(r)
		}
	}
	if u.page != nil {
		u.page.View(u.width, u.height)
		add(strings.TrimRight(u.page.Text(), "\n"))
		u.page = nil
	}
	if u.tip != "" {
		l.wrap(add, u.tip)
		u.tip = ""
	}
	l.subAgents(add)
	l.running(add)
	l.announceTurn(add)
	l.question(add)
	l.choose(add)
	if !u.box.Empty() {
		l.draft = u.box.Take().Text
		l.wrap(add, "this text came back; Enter sends it again:", l.draft)
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(l.out, term.Escape(b.String()))
	return err
}

func (l *plain) wrap(add func(...string), lines ...string) {
	for _, t := range lines {
		add(paint.Wrap(t, l.u.width)...)
	}
}

// queue says which messages the agent has not read.
func (l *plain) queue(add func(...string)) {
	u := l.u
	var ids []string
	for _, q := range u.conv.State().Queue {
		ids = append(ids, q.ID)
		if slices.Contains(l.queued, q.ID) {
			continue
		}
		if i := slices.Index(u.typed, q.Text); i >= 0 { // it is printed when the agent reads it
			u.typed = slices.Delete(u.typed, i, i+1)
		}
		l.wrap(add, "Queued until the next step of the agent: "+term.OneLine(q.Shown()))
	}
	l.queued = ids
}

// subAgents says which sub-agents have started and ended.
func (l *plain) subAgents(add func(...string)) {
	seen := map[string]bool{}
	for _, a := range l.u.conv.State().Agents {
		ended, known := l.agents[a.Use+a.Session]
		seen[a.Use+a.Session] = a.Ended
		name := "Agent " + term.OneLine(cmp.Or(a.Name, a.Use))
		switch {
		case known && ended == a.Ended:
		case a.Failed:
			l.wrap(add, name+" has failed")
		case a.Ended:
			l.wrap(add, name+" is done")
		default:
			l.wrap(add, name+" has started")
		}
	}
	l.agents = seen
}

// running says which calls take long.
func (l *plain) running(add func(...string)) {
	now, seen := l.u.now(), map[string]time.Time{}
	for _, c := range l.u.conv.State().Calls {
		last, known := l.calls[c.Use]
		if known && now.Sub(last) < stillTime || !known && now.Sub(c.Started) < callTime || c.Background {
			if known {
				seen[c.Use] = last
			}
			continue
		}
		seen[c.Use] = now
		l.wrap(add, fmt.Sprintf("Running for %s: %s", term.Count(int(now.Sub(c.Started).Seconds()), "second"), l.u.look.Headline(c)))
	}
	l.calls = seen
}

// announceTurn says whose turn it is, when that changes.
func (l *plain) announceTurn(add func(...string)) {
	u := l.u
	st := u.conv.State()
	if lost := st.Lost != nil; lost != l.lost {
		if l.lost = lost; lost {
			l.wrap(add, fmt.Sprintf("Warning: no connection to the daemon, trying again: %v", st.Lost))
		} else {
			add("the connection is back")
		}
	}
	turn := "your turn"
	switch {
	case u.opening || len(u.waiting) > 0 && !u.inbox.Interviewing() || u.leaving:
		return
	case len(st.Questions) > 0 || u.inbox.Interviewing():
		turn = ""
	case st.Working:
		turn = "the agent works"
	}
	if turn != l.turn {
		l.turn = turn
		if turn != "" {
			add(turn)
		}
	}
}

// question prints what is new of the open question, and its choices.
func (l *plain) question(add func(...string)) {
	u := l.u
	if text := u.inbox.Notice(); text != "" {
		l.wrap(add, "Note: "+text)
	}
	w := u.inbox.Whole(u.width, u.now())
	was := l.asked
	same := w.ID == was.ID
	if l.asked = w; same && slices.Equal(w.Lines, was.Lines) && slices.Equal(w.Keys, was.Keys) && w.Label == was.Label {
		return
	}
	if w.ID == "" {
		return
	}
	lines := w.Lines
	if same {
		for len(lines) > 0 && len(was.Lines) > 0 && lines[0] == was.Lines[0] {
			lines, was.Lines = lines[1:], was.Lines[1:]
		}
	} else {
		title := "Question:"
		if w.Of > 1 {
			title = fmt.Sprintf("Question %d of %d:", w.At, w.Of)
		}
		add("", title)
	}
	for _, t := range lines {
		if words, ok := strings.CutPrefix(t, "› "); ok {
			t = "chosen: " + words
		}
		add(t)
	}
	if w.Label != "" {
		l.wrap(add, "type a line: "+w.Label)
		return
	}
	choices := l.choices()
	for i, k := range choices {
		if k[1] != "" {
			l.wrap(add, fmt.Sprintf("%d  %s", i+1, k[1]))
		}
	}
	if len(choices) > 0 {
		add(fmt.Sprintf("type a number from 1 to %d", len(choices)))
	}
}

// maxItems is how many entries of a list are printed.
const maxItems = 20

// choose prints a list.
func (l *plain) choose(add func(...string)) {
	p := l.u.picker
	if p == l.list {
		return
	}
	if l.list = p; p == nil {
		return
	}
	all := p.Matches()
	l.items = all[:min(len(all), maxItems)]
	l.wrap(add, "", p.title+":")
	for i, it := range l.items {
		text := fmt.Sprintf("%d  %s", i+1, term.OneLine(it.Text))
		if it.Detail != "" {
			text += "  (" + term.OneLine(it.Detail) + ")"
		}
		l.wrap(add, text)
	}
	if n := len(all) - len(l.items); n > 0 {
		add(fmt.Sprintf("and %d more", n))
	}
	if len(all) == 0 {
		add("no entry has these words")
	}
	l.wrap(add, "type a number, words to search, or Enter for none")
}
