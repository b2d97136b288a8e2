package term

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Dialog runs code that asks the user with a [Prompter], but without a terminal: the program feeds
// it what the user presses and types, and draws its lines.
//
//	d := term.NewDialog(style, func(p *term.Prompter) { yes, err = p.Yes(ctx, "delete it?") })
//	defer d.Close()
//	for d.Needs() != term.Ended {
//		draw(d.View(80))
//		d.Feed(read())
//	}
//
// The code runs only while NewDialog, Feed, View or Close runs. A Dialog is not safe for concurrent
// use.
type Dialog struct {
	out   *Printer
	next  func() (Need, bool) // continues the code
	stop  func()
	yield func(Need) bool // pauses the code
	needs Need
	input string // what Feed gives to the code

	parts     []part
	questions int
	redrawn   *strings.Builder // receives the output while View shows a part again
}

// Need is what a [Dialog] waits for.
type Need int

const (
	Ended     Need = iota // nothing: the code has returned
	NeedsKey              // one of the keys that it shows
	NeedsLine             // a line of text
)

// part is a piece of the output.
type part struct {
	text     string
	show     func() // prints the part for the current width; nil if text is the part
	question bool
	prompt   bool  // it waits for an answer
	keys     []Key // that answer the prompt
}

// NewDialog starts ask, which runs until it needs a key or a line.
func NewDialog(s Style, ask func(*Prompter)) *Dialog {
	d := &Dialog{}
	keys := NewKeyboard(strings.NewReader(""))
	keys.dialog = d
	p := NewPrompter(keys, NewPrinter(d, Style{TTY: true, Dumb: true, Color: s.Color, Width: s.Width}))
	d.out = p.Out
	d.next, d.stop = iter.Pull(func(yield func(Need) bool) {
		d.yield = yield
		ask(p)
	})
	d.step()
	return d
}

// Close ends the code: the key or line for which it waits is an error.
func (d *Dialog) Close() { d.stop() }

// Needs returns what the dialog waits for.
func (d *Dialog) Needs() Need { return d.needs }

// Questions returns how many questions were shown so far. A text that the user must read is new if
// the number has changed.
func (d *Dialog) Questions() int { return d.questions }

// Feed gives the code the line, or the key, for which it waits. It returns false for a key that the
// dialog does not offer; such a key does nothing.
func (d *Dialog) Feed(text string) bool {
	if d.needs == Ended || d.needs == NeedsKey && !d.Offers(text) {
		return false
	}
	d.input = text
	d.step()
	return true
}

func (d *Dialog) step() {
	d.needs, _ = d.next() // Ended at the end
}

// wait returns what Feed gets.
func (d *Dialog) wait(n Need) (string, error) {
	if !d.yield(n) {
		return "\x00", context.Canceled
	}
	return d.input, nil
}

// Offers reports whether the prompt shows a key. A prompt shows several digits as "1-4".
func (d *Dialog) Offers(key string) bool {
	return len(key) == 1 && len(d.parts) > 0 && slices.ContainsFunc(d.parts[len(d.parts)-1].keys, func(k Key) bool {
		first, last, span := strings.Cut(k[0], "-")
		return key == first || span && first <= key && key <= last
	})
}

// Keys returns the keys that the prompt shows, with their meanings. It returns none while the code
// waits for a line.
func (d *Dialog) Keys() []Key {
	if d.needs != NeedsKey || len(d.parts) == 0 {
		return nil
	}
	return d.parts[len(d.parts)-1].keys
}

// Write receives the output of the code.
func (d *Dialog) Write(b []byte) (int, error) {
	if d.redrawn != nil {
		return d.redrawn.Write(b)
	}
	if n := len(d.parts); n > 0 && d.parts[n-1].show == nil {
		d.parts[n-1].text += string(b)
	} else {
		d.parts = append(d.parts, part{text: string(b)})
	}
	return len(b), nil
}

// question replaces the last question and everything after it.
func (d *Dialog) question(show func()) {
	if i := slices.IndexFunc(d.parts, func(p part) bool { return p.question }); i >= 0 {
		d.parts = d.parts[:i]
	}
	d.parts = append(d.parts, part{show: show, question: true})
	d.questions++
}

// offer adds a prompt.
func (d *Dialog) offer(keys []Key, show func()) {
	d.parts = append(d.parts, part{show: show, prompt: true, keys: keys})
}

// answered replaces the keys of the prompt by the meaning of the pressed key, or adds what the user
// typed to the prompt.
func (d *Dialog) answered(words string) {
	last := d.parts[len(d.parts)-1]
	d.parts = d.parts[:len(d.parts)-1]
	words = EscapeStrict(OneLine(words))
	switch {
	case last.keys == nil:
		d.out.Line("%s", strings.Join(d.again(last), "\n")+words)
	case words != "":
		d.out.Line("%s", d.out.Dim("› "+words))
	}
}

// View returns what the code has printed, and the prompt for which it waits, as lines of at most
// width columns.
func (d *Dialog) View(width int) (lines, prompt []string) {
	d.out.Width = max(width, 2)
	for i, p := range d.parts {
		printed := d.again(p)
		if p.prompt && i == len(d.parts)-1 && d.needs != Ended {
			return lines, d.fold(printed)
		}
		if i == 0 {
			for len(printed) > 0 && printed[0] == "" { // the distance from other output
				printed = printed[1:]
			}
		}
		lines = append(lines, d.fold(printed)...)
	}
	return lines, nil
}

// again returns the lines of a part for the current width.
func (d *Dialog) again(p part) []string {
	text := p.text
	if p.show != nil {
		d.redrawn = &strings.Builder{}
		midLine := d.out.screen.midLine
		d.out.screen.midLine = false
		p.show()
		text, d.redrawn = d.redrawn.String(), nil
		d.out.screen.midLine = midLine
	}
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (d *Dialog) fold(lines []string) (folded []string) {
	for _, l := range lines {
		folded = append(folded, Wrap(l, d.out.Width)...)
	}
	return folded
}
