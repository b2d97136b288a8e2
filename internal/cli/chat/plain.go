package chat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/inbox"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// plain is the form of the conversation for screen readers and for terminals that cannot move the
// cursor: it only adds lines, writes words instead of signs and no escape sequences, and the user
// types lines and chooses by number.
type plain struct {
	u       *ui
	out     io.Writer
	columns func() int
	echo    bool // the terminal shows what the user types

	more   string       // the first lines of a message that continues
	draft  string       // a message that came back
	dialog *term.Dialog // asks before the first message, or nil
	said   int          // lines of the dialog that were printed
	asked  inbox.Whole  // the question as it was printed last
	list   *picking     // that was printed last
	items  []pick.Item  // what the numbers of the list mean
	turn   string       // whose turn it is
	lost   bool         // the connection is lost
	queued []string     // ids of the queued messages that were printed
	calls  map[string]time.Time

	broken bool // the terminal has written to the current line

	ended bool // there is no more input
	check bool // something happened since the last look at whether to leave
}

// converseInLines is the plain form of converse.
func converseInLines(ctx context.Context, p *command.Program, u *ui, start *Start) error {
	// The program's first Ctrl-C would end the conversation; here it interrupts the agent.
	signal.Reset(os.Interrupt)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	l := &plain{u: u, out: p.Stdout, columns: p.Out.Columns, echo: term.IsTerminal(p.Stdin)}
	l.measure()
	u.begin(start)
	return l.loop(ctx, readLines(p.Stdin), signals)
}

// readLines reads lines until the input ends.
func readLines(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() { // ends with the input or the process
		defer close(lines)
		for r := bufio.NewReader(in); ; {
			text, err := r.ReadString('\n')
			if err == nil || text != "" {
				lines <- text
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// callTime is how long a call runs before it is printed that it runs, and stillTime how often it is
// printed again.
const (
	callTime  = 5 * time.Second
	stillTime = time.Minute
)

// loop runs until the user leaves or the input ends.
func (l *plain) loop(ctx context.Context, lines <-chan string, signals <-chan os.Signal) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := l.print(); err != nil || l.u.leaving {
			return err
		}
		in := lines
		if l.u.opening { // commands need the session
			in = nil
		}
		select {
		case text, ok := <-in:
			if !ok {
				lines, l.ended, l.check = nil, true, true
				break
			}
			l.line(text)
		case <-signals:
			l.interrupt()
		case then := <-l.u.done:
			then()
		case a := <-l.u.inbox.Answers():
			l.u.answered(a)
		case then := <-l.u.events:
			then()
			l.check = true
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.end()
	}
}

// end leaves after the end of the input, when everything that was typed is done. Without a daemon,
// the agent finishes its turn first.
func (l *plain) end() {
	u := l.u
	if !l.ended || !l.check || u.pending > 0 || l.dialog != nil {
		return
	}
	l.check = false
	if u.s == nil {
		u.leave()
		return
	}
	u.later(func(ctx context.Context) func() {
		working, err := u.s.Working(ctx)
		return func() {
			switch asks := len(u.conv.State().Questions) > 0; {
			case err != nil:
				u.fail("", err)
				u.leaving = true
			case working && !u.s.About().Daemon && !asks:
				// the next event looks again
			default:
				u.leaveRun(working)
				u.leaving = true
			}
		}
	})
}

// interrupt is Ctrl-C.
func (l *plain) interrupt() {
	u := l.u
	l.broken = l.echo
	switch {
	case u.picker != nil:
		u.picker = nil
		u.say("nothing chosen")
	case l.asked.ID != "" && u.inbox.Restart():
		l.asked = inbox.Whole{}
	default:
		l.more = ""
		u.cancel()
	}
}

// line takes a line of the user: a number for a question or a list, otherwise a message or a command.
func (l *plain) line(text string) {
	u := l.u
	text = strings.TrimRight(text, "\r\n")
	if l.dialog != nil {
		l.dialog.Feed(text)
		return
	}
	if start, ok := strings.CutSuffix(text, `\`); ok {
		l.more += start + "\n"
		return
	}
	text = strings.TrimSpace(l.more + text)
	n, err := strconv.Atoi(text)
	isNumber := err == nil && l.more == ""
	l.more = ""
	switch {
	case u.picker != nil:
		l.pick(text, n, isNumber)
	case l.asked.Label != "":
		u.inbox.Type(text)
	case len(l.asked.Keys) > 0 && isNumber:
		l.answer(n)
	case text == "":
		if l.draft != "" {
			l.submit(l.draft)
		}
	default:
		l.submit(text)
	}
}

// submit sends a message, or runs a command.
func (l *plain) submit(text string) {
	u := l.u
	l.draft = ""
	u.box.Set(edit.Entry{Text: text})
	before := len(u.waiting)
	u.submit()
	u.box.Take()
	if sent := u.waiting[min(before, len(u.waiting)):]; l.echo && len(sent) > 0 {
		u.typed = append(u.typed, sent...)
	}
}

// pick takes a line while a list is open: a number, or words that the entries must have.
func (l *plain) pick(text string, n int, isNumber bool) {
	u := l.u
	p := u.picker
	switch {
	case text == "" || isNumber && n == 0:
		u.picker = nil
		u.say("nothing chosen")
	case isNumber && n >= 1 && n <= len(l.items):
		u.picker = nil
		p.chosen(l.items[n-1])
	case isNumber:
		u.say(fmt.Sprintf("type a number from 1 to %d", len(l.items)))
	default:
		p.Filter(text)
		l.list = nil
	}
}

// answer gives the question a number of its choices.
func (l *plain) answer(n int) {
	u := l.u
	choices := l.choices()
	if n < 1 || n > len(choices) {
		u.say(fmt.Sprintf("type a number from 1 to %d", len(choices)))
		return
	}
	key := choices[n-1][0]
	if key == "" {
		u.inbox.Next()
		return
	}
	if u.inbox.Type(key) == edit.Ignored {
		u.say("the question has just appeared: read it, and type the number again")
	}
}

// choices returns the keys of the question in the order of their numbers. Digits come first, so that
// the options of a question keep the numbers that they have in its text. The last one without a key
// stands for the next question.
func (l *plain) choices() (list []term.Key) {
	for _, k := range l.asked.Keys {
		first, last, span := strings.Cut(k[0], "-")
		if first[0] < '1' || first[0] > '9' {
			continue
		}
		if !span {
			last = first
		}
		for d := first[0]; d <= last[0]; d++ {
			list = append(list, term.Key{string(d), ""})
		}
	}
	for _, k := range l.asked.Keys {
		if k[0][0] < '0' || k[0][0] > '9' {
			list = append(list, k)
		}
	}
	if l.asked.Of > 1 {
		list = append(list, term.Key{"", "show the next question"})
	}
	return list
}

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
	l.interview(add)
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
	l.running(add)
	l.state(add)
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

// interview asks what must be known before the first message.
func (l *plain) interview(add func(...string)) {
	u := l.u
	if do := u.interview; do != nil {
		u.interview = nil
		l.said = 0
		l.dialog = term.NewDialog(term.Style{Width: u.width}, func(p *term.Prompter) { do(question.AskerOn(u.p, p)) })
	}
	if l.dialog == nil {
		return
	}
	lines, prompt := l.dialog.View(u.width)
	if all := append(lines, prompt...); len(all) > l.said {
		add(all[l.said:]...)
		l.said = len(all)
	}
	if l.dialog.Needs() == term.Ended {
		l.dialog.Close()
		l.dialog = nil
		u.sendWaiting()
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
		l.wrap(add, "Queued until the next step of the agent: "+term.OneLine(q.Text))
	}
	l.queued = ids
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

// state says whose turn it is, when that changes.
func (l *plain) state(add func(...string)) {
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
	case u.opening || len(u.waiting) > 0 || l.dialog != nil || u.leaving:
		return
	case len(st.Questions) > 0:
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
