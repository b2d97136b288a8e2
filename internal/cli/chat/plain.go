package chat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/inbox"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// plain is the form of the conversation for screen readers and for terminals that cannot move the
// cursor: it only adds lines, writes words instead of signs and no escape sequences, and the user
// types lines and chooses by number.
type plain struct {
	u       *ui
	out     io.Writer
	columns func() int
	echo    bool            // the terminal shows what the user types
	next    chan<- struct{} // asks for a line, so that no one reads while the terminal is lent
	reading bool            // a line was asked for and has not come

	more   string          // the first lines of a message that continues
	draft  string          // a message that came back
	asked  inbox.Whole     // the question as it was printed last
	list   *picking        // that was printed last
	items  []pick.Item     // what the numbers of the list mean
	turn   string          // whose turn it is
	lost   bool            // the connection is lost
	queued []string        // ids of the queued messages that were printed
	agents map[string]bool // sub-agents that were printed, and whether they had ended
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
	lines, next := readLines(p.Stdin)
	l.next = next
	l.measure()
	u.begin(start)
	return l.loop(ctx, lines, signals)
}

// readLines reads lines until the input ends, each after it was asked for.
func readLines(in io.Reader) (<-chan string, chan<- struct{}) {
	lines, next := make(chan string), make(chan struct{}, 1)
	go func() { // ends with the input or the process
		defer close(lines)
		r := bufio.NewReader(in)
		for range next {
			text, err := r.ReadString('\n')
			if err == nil || text != "" {
				lines <- text
			}
			if err != nil {
				return
			}
		}
	}()
	return lines, next
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
		l.u.lookAround()
		if err := l.print(); err != nil {
			return err
		}
		if l.u.leaving {
			return l.u.ended()
		}
		in := lines
		if l.u.opening { // commands need the session
			in = nil
		} else if l.next != nil && !l.reading && lines != nil {
			l.next <- struct{}{}
			l.reading = true
		}
		select {
		case text, ok := <-in:
			l.reading = false
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
		l.lend()
		l.end()
	}
}

// lend gives the terminal to a command that needs it, such as /login. Nothing else may read then: a key
// that the user types must not become a message.
func (l *plain) lend() {
	do := l.u.borrow
	if l.u.borrow = nil; do == nil {
		return
	}
	if l.reading || !l.echo {
		l.u.fail("", outcome.Invalid("this needs the terminal for itself", "holdfast login stores a key outside of the conversation"))
		return
	}
	if err := l.print(); err != nil {
		return // the loop reports it
	}
	do()
}

// end leaves after the end of the input, when everything that was typed is done. Without a daemon,
// the agent finishes its turn first.
func (l *plain) end() {
	u := l.u
	if !l.ended {
		return
	}
	u.inbox.EndInterview()
	if !l.check || u.pending > 0 || len(u.waiting) > 0 {
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
	if sent := u.waiting[min(before, len(u.waiting)):]; l.echo {
		for _, m := range sent {
			text, _ := record.CutCommands(m.text)
			u.typed = append(u.typed, text)
		}
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
