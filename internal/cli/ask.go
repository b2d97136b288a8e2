package cli

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/approval"
)

// asker puts questions to the person at the terminal, one at a time, whoever asks. It
// shows exactly what would happen and takes nothing but a clear answer: keys that were
// pressed before the question was on the screen count for nothing, and Enter is no answer.
type asker struct {
	keys  *keyboard
	out   *printer
	close func()
	now   func() time.Time
	by    string
}

// viaTerminal is how an answer from here is marked.
const viaTerminal = "terminal"

// nobody has denied what was asked at a terminal that went away.
const nobody = "nobody"

// asker returns nil when nobody is there to ask. The caller closes it.
func (p *Program) asker() *asker {
	out, done := p.screen()
	if out == nil {
		return nil
	}
	if p.keys == nil { // one reads: a second one would miss what the first has taken
		p.keys = newKeyboard(p.Stdin)
	}
	return &asker{
		keys: p.keys, out: out, close: done, now: p.Now, by: orElse(p.env("USER"), "person"),
	}
}

// yes puts a question that is answered with yes or no, in a line.
func (a *asker) yes(ctx context.Context, question string) (bool, error) {
	a.keys.flush()
	a.out.text(question + " [y]es · [n]o: ")
	line, _, err := a.keys.line(ctx)
	a.out.shape.setMidLine(false)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// ask shows a question and waits for the answer. The error is the end of ctx:
// an interrupt, or somebody else's answer.
func (a *asker) ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	done, err := a.turn(ctx)
	if err != nil {
		return approval.Answer{}, err
	}
	defer done()
	pr := a.out
	pr.progress().work("")
	pr.line("")
	ans := approval.Answer{Question: q.ID, By: a.by, Via: viaTerminal}
	list, plan, form := q.Choices(), q.Plan(), q.Form()
	if list == nil {
		pr.question(q, a.now())
		a.keys.flush()
	}
	if list != nil || plan != "" || form != nil {
		switch {
		case form != nil:
			err = a.fillIn(ctx, q, form, &ans)
		case list != nil:
			pr.asks(q, len(list), a.now())
			err = a.choose(ctx, q, list, &ans)
		default:
			err = a.agree(ctx, q, &ans)
		}
		if err != nil {
			a.out.endLine()
			return ans, err
		}
		if ans.By != nobody {
			ans.At = a.now()
		}
		return ans, nil
	}
	for {
		a.offer(choices(q)...)
		key, ok, err := a.keys.key(ctx)
		if err != nil {
			pr.endLine()
			return ans, err
		}
		if !ok {
			pr.endLine()
			ans.Decision, ans.By, ans.Message = approval.Deny, nobody, "input ended before there was an answer"
			return ans, nil
		}
		done, err := a.take(ctx, key, q, &ans)
		if err != nil {
			pr.endLine()
			return ans, err
		}
		if done {
			ans.At = a.now()
			return ans, nil
		}
	}
}

// turn waits until nobody else is asked, and has what others print wait until done.
func (a *asker) turn(ctx context.Context) (done func(), err error) {
	next, err := a.keys.turn(ctx)
	if err != nil {
		return nil, err
	}
	release := a.out.hold()
	return func() {
		release()
		next()
	}, nil
}

// choices are the keys of a question.
func choices(q approval.Question) []keyed {
	if !remembers(q) {
		return []keyed{{"y", "yes, once"}, {"n", "no"}, {"m", "no, and why"}, {"s", "no, and stop"}}
	}
	return []keyed{
		{"y", "yes, once"}, {"a", "yes, this run"}, {"n", "no"}, {"d", "no, this run"}, {"m", "no, and why"}, {"s", "no, and stop"},
	}
}

// keyed is a key and what it means.
type keyed struct{ key, means string }

// offer shows the keys in a line, or in several where the screen is narrow.
func (a *asker) offer(list ...keyed) {
	t, col := a.out.term, 0
	var b strings.Builder
	for i, k := range list {
		n := utf8.RuneCountInString(k.key + " " + k.means)
		switch {
		case i == 0:
		case col+n+len(" · : ") > t.columns():
			b.WriteString("\n")
			col = 0
		default:
			b.WriteString(" · ")
			col += 3
		}
		b.WriteString(t.bold(k.key) + " " + k.means)
		col += n
	}
	a.out.text(b.String() + ": ")
}

// remembers reports whether an answer may hold for the session.
func remembers(q approval.Question) bool { return !q.Once() }

// take makes an answer of a key, and reports whether it did.
func (a *asker) take(ctx context.Context, key byte, q approval.Question, ans *approval.Answer) (bool, error) {
	said := func(d approval.Decision, words string) (bool, error) {
		ans.Decision = d
		a.tell(words)
		return true, nil
	}
	switch key {
	case 'y':
		return said(approval.Allow, "yes, once")
	case 'n':
		return said(approval.Deny, "no")
	case 's':
		ans.Stop = true
		return said(approval.Deny, "no, and stop")
	case 'm':
		a.tell("no")
		line, ok, err := a.prompt(ctx, "tell the model why: ")
		if err != nil || !ok {
			return false, err
		}
		ans.Decision, ans.Message = approval.Deny, strings.TrimSpace(line)
		return true, nil
	case 'a', 'd':
		if !remembers(q) {
			break
		}
		ans.Decision = approval.AllowSession
		words := "yes, for this run"
		if key == 'd' {
			ans.Decision, words = approval.DenySession, "no, for this run"
		}
		a.tell(words)
		return a.scope(ctx, q, ans)
	}
	a.tell("")
	a.out.line("%s", a.out.term.dim("press one of the keys; y and n are for this call alone"))
	return false, nil
}

// scope asks what a decision for the run covers.
func (a *asker) scope(ctx context.Context, q approval.Question, ans *approval.Answer) (bool, error) {
	t := a.out.term
	offered := q.Scopes[:min(len(q.Scopes), 9)]
	for i, s := range offered {
		a.out.line("  %s %s", t.bold(fmt.Sprint(i+1)), exact(scopeText(s)))
	}
	for {
		keys := []keyed{{"e", "write a rule"}, {"b", "back"}}
		if n := len(offered); n > 0 {
			keys = append([]keyed{{"1" + upTo(n), "what it covers"}}, keys...)
		}
		a.offer(keys...)
		key, ok, err := a.keys.key(ctx)
		if err != nil || !ok {
			return false, err
		}
		switch n := int(key - '0'); {
		case key == 'b':
			a.tell("back")
			return false, nil
		case key == 'e':
			a.tell("")
			if ok, err := a.edit(ctx, q, ans); ok || err != nil {
				return ok, err
			}
		case n >= 1 && n <= len(offered):
			ans.Scope = offered[n-1].Rule
			a.tell(scopeText(offered[n-1]))
			return true, nil
		default:
			a.tell("")
		}
	}
}

// edit takes a rule that the person writes.
func (a *asker) edit(ctx context.Context, q approval.Question, ans *approval.Answer) (bool, error) {
	for _, s := range q.Scopes {
		if s.Rule != "" {
			a.out.line("%s", a.out.term.dim("for example "+exact(s.Rule)))
			break
		}
	}
	line, ok, err := a.prompt(ctx, "rule: ")
	if err != nil || !ok {
		return false, err
	}
	with := *ans
	with.Scope = strings.TrimSpace(line)
	if err := approval.Check(q, with); err != nil {
		a.out.line("%s", exact(oneLine(err.Error())))
		return false, nil
	}
	*ans = with
	return true, nil
}

func (a *asker) prompt(ctx context.Context, text string) (string, bool, error) {
	a.out.text(a.out.term.bold(text))
	line, ok, err := a.keys.line(ctx)
	a.out.shape.setMidLine(false) // the person's own newline moved the cursor
	return line, ok, err
}

// tell ends the line that a key was awaited on with what the key meant.
func (a *asker) tell(words string) {
	if a.keys.tty == nil {
		a.out.shape.setMidLine(false) // Enter did
		return
	}
	a.out.text(exact(words))
	a.out.endLine()
}

func upTo(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("-%d", n)
}
