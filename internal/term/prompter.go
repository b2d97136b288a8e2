package term

import (
	"context"
	"os"
	"strings"
	"unicode/utf8"
)

// Prompter asks the user at the terminal. Out prints to the screen immediately, even while other
// output waits for an answer.
type Prompter struct {
	Out *Printer

	keys  *Keyboard
	tty   *os.File // the screen if it was opened for this prompter, otherwise nil
	asked func()   // function that shows the question, or nil
	offer string   // the keys that were last offered to the user
}

// NewPrompter returns a prompter that reads keys and prints to the screen of out.
func NewPrompter(keys *Keyboard, out *Printer) *Prompter {
	front := *out
	front.prompting = true
	return &Prompter{Out: &front, keys: keys}
}

// Close closes the screen if it was opened for this prompter.
func (p *Prompter) Close() {
	if p.tty != nil {
		_ = p.tty.Close()
	}
}

// ShowQuestion shows a question. It shows the question again when the program continues after it
// was stopped, because the shell has used the screen meanwhile.
func (p *Prompter) ShowQuestion(show func()) {
	p.asked = show
	if d := p.keys.dialog; d != nil {
		d.question(show)
		return
	}
	show()
}

// Lock waits until no other question is open, and makes other output wait until done is called.
func (p *Prompter) Lock(ctx context.Context) (done func(), err error) {
	next, err := p.keys.turn(ctx)
	if err != nil {
		return nil, err
	}
	p.keys.typing.yield(ctx)
	release := p.Out.pause()
	return func() {
		p.asked = nil
		release()
		p.keys.typing.resume()
		next()
	}, nil
}

// Flush discards what the user has typed so far.
func (p *Prompter) Flush() { p.keys.flush() }

// Key waits for one key. For any input other than a single key it returns 0. ok is false at the end
// of input; the error is the cause of ctx.
func (p *Prompter) Key(ctx context.Context) (key byte, ok bool, err error) {
	p.keys.showAgain = func() {
		p.Out.EndLine()
		if p.asked != nil {
			p.asked()
		}
		p.Out.Text(p.offer)
	}
	return p.keys.key(ctx)
}

// Key is a key and its meaning: {"y", "yes"}.
type Key [2]string

// ShowKeys shows keys on one line, or on several lines if the screen is narrow.
func (p *Prompter) ShowKeys(list ...Key) {
	if d := p.keys.dialog; d != nil {
		d.offer(list, func() { p.Out.Text(p.keyLine(list)) })
		return
	}
	p.offer = p.keyLine(list)
	p.Out.Text(p.offer)
}

// keyLine returns keys with their meanings, in lines that fit the screen, and a colon.
func (p *Prompter) keyLine(list []Key) string {
	col := 0
	var b strings.Builder
	for i, k := range list {
		key, means := k[0], k[1]
		n := utf8.RuneCountInString(key + " " + means)
		switch {
		case i == 0:
		case col+n+len(" · : ") > p.Out.Columns():
			b.WriteString("\n")
			col = 0
		default:
			b.WriteString(" · ")
			col += 3
		}
		b.WriteString(p.Out.Bold(key) + " " + means)
		col += n
	}
	return b.String() + ": "
}

// Echo ends the line of the prompt with the meaning of the pressed key.
func (p *Prompter) Echo(words string) {
	if d := p.keys.dialog; d != nil {
		d.answered(words)
		return
	}
	if p.keys.tty == nil {
		p.Out.setMidLine(false) // Enter has ended the line
		return
	}
	p.Out.Text(EscapeStrict(words))
	p.Out.EndLine()
}

// Prompt asks for a line. ok is false at the end of the input.
func (p *Prompter) Prompt(ctx context.Context, text string) (line string, ok bool, err error) {
	return p.prompt(ctx, p.Out.Bold(text))
}

func (p *Prompter) prompt(ctx context.Context, text string) (line string, ok bool, err error) {
	if d := p.keys.dialog; d != nil {
		d.offer(nil, func() { p.Out.Text(text) })
		if line, ok, err = p.keys.line(ctx); err == nil {
			d.answered(line)
		}
		return line, ok, err
	}
	p.Out.Text(text)
	line, ok, err = p.keys.line(ctx)
	p.Out.setMidLine(false) // the newline that the user typed has moved the cursor
	return line, ok, err
}

// Yes asks a yes-or-no question. Any answer other than yes means no.
func (p *Prompter) Yes(ctx context.Context, question string) (bool, error) {
	p.Flush()
	line, _, err := p.prompt(ctx, question+" [y]es · [n]o: ")
	yes, _ := yesOrNo(line)
	return yes && err == nil, err
}

// YesNoOrDefer asks a yes-or-no question that the user may leave open: answered is false for any
// answer other than yes and no.
func (p *Prompter) YesNoOrDefer(ctx context.Context, question string) (yes, answered bool, err error) {
	p.Flush()
	if d := p.keys.dialog; d != nil { // where a line can be meant for something else
		d.questions++
		p.Out.Line("%s", question)
		p.ShowKeys(Key{"y", "yes"}, Key{"n", "no"}, Key{"l", "later"})
		key, _, err := p.Key(ctx)
		if err == nil {
			p.Echo(map[byte]string{'y': "yes", 'n': "no", 'l': "later"}[key])
		}
		return key == 'y', key == 'y' || key == 'n', err
	}
	line, _, err := p.prompt(ctx, question+" [y]es · [n]o · Enter: not now: ")
	yes, answered = yesOrNo(line)
	return yes, answered, err
}

func yesOrNo(line string) (yes, answered bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, true
	case "n", "no":
		return false, true
	}
	return false, false
}
