package question

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// printPlan prints a whole plan: its source or, in a terminal, as the Markdown that it is.
func printPlan(p *term.Printer, text string) {
	text = term.EscapeStrict(strings.ReplaceAll(text, "\r\n", "\n"))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if p.TTY {
		m := markdown.New(&markdown.Options{Style: colors(p)})
		m.Write(text)
		lines = m.Close(p.Columns() - 2)
	}
	for _, l := range lines {
		p.Line("%s", strings.TrimRight("  "+l, " "))
	}
}

// printChoice prints a question of the model with its options.
func printChoice(p *term.Printer, i, n int, c forms.Choice) {
	t := p.Style
	of, letters := "", 0
	if n > 1 {
		of = fmt.Sprintf("%d of %d  ", i+1, n)
		of, letters = t.Dim(of), len(of)
	}
	header := oneLine(c.Header)
	p.PrintIndented("  "+of+t.Yellow(header)+"  ", 4+letters+term.Width(header), term.EscapeStrict(c.Question), t.Bold)
	for j, o := range c.Options {
		label := oneLine(o.Label)
		p.PrintIndented("    "+t.Bold(strconv.Itoa(j+1))+"  "+label+"  ", 9+term.Width(label), oneLine(o.Description), t.Dim)
		printIndented(p, "       ", o.Preview, t.Dim)
	}
}

// askPlan asks for the decision about a plan and stores it in ans.
func (a *Asker) askPlan(ctx context.Context, q approval.Request, ans *approval.Answer) error {
	for {
		a.ShowKeys(term.Key{"y", "allow, ask before each change"}, term.Key{"e", "allow, and edit files without asking"},
			term.Key{"n", "deny, keep planning"}, term.Key{"m", "deny and say why"}, term.Key{"s", "deny and stop"})
		key, ok, err := a.Key(ctx)
		if !ok || err != nil {
			return a.closedAnswer(ok, err, ans)
		}
		mode, words := policy.ModeDefault, "allow, ask before each change"
		switch key {
		case 'e':
			mode, words = policy.ModeAcceptEdits, "allow, and edit files without asking"
			fallthrough
		case 'y':
			a.Echo(words)
			ans.Decision = approval.Allow
			ans.Input, err = q.PlanInput(mode)
			return err
		}
		if done, err := a.deny(ctx, key, "deny, keep planning", "what should change: ", ans); done || err != nil {
			return err
		}
	}
}

// deny turns a key that denies into a denial, and reports whether it did.
func (a *Asker) deny(ctx context.Context, key byte, no, why string, ans *approval.Answer) (bool, error) {
	switch key {
	case 'n':
		a.Echo(no)
	case 's':
		a.Echo("deny and stop")
		ans.Stop = true
	case 'm':
		a.Echo("deny")
		line, ok, err := a.Prompt(ctx, why)
		if err != nil || !ok {
			return false, err
		}
		ans.Message = strings.TrimSpace(line)
	default:
		a.Echo("")
		a.Out.Line("%s", a.Out.Dim("press one of the keys above"))
		return false, nil
	}
	ans.Decision = approval.Deny
	return true, nil
}

// closedAnswer returns the answer that is used when the terminal is closed.
func (a *Asker) closedAnswer(ok bool, err error, ans *approval.Answer) error {
	a.Out.EndLine()
	if err == nil && !ok {
		ans.Decision, ans.Actor, ans.Message = approval.Deny, TerminalClosed, "the input ended before there was an answer"
	}
	return err
}

// askChoices asks the model's questions, one after the other.
func (a *Asker) askChoices(ctx context.Context, q approval.Request, list []forms.Choice, ans *approval.Answer) error {
	for {
		answers := map[string][]string{}
		for i, c := range list {
			a.ShowQuestion(func() { printChoice(a.Out, i, len(list), c) })
			a.Flush()
			picked, err := a.askChoice(ctx, c, ans)
			if picked == nil || err != nil {
				return err
			}
			answers[c.Question] = picked
		}
		if len(list) > 1 {
			var picked [][2]string
			for _, c := range list {
				picked = append(picked, [2]string{c.Header, strings.Join(answers[c.Question], ", ")})
			}
			again, done, err := a.confirmAnswers(ctx, picked, ans)
			if done || err != nil {
				return err
			}
			if again {
				continue
			}
		}
		in, err := q.AnswersInput(answers)
		if err != nil {
			return err
		}
		ans.Decision, ans.Input = approval.Allow, in
		return nil
	}
}

// askChoice asks one question. It returns nothing if the user declines to answer the questions.
func (a *Asker) askChoice(ctx context.Context, c forms.Choice, ans *approval.Answer) ([]string, error) {
	t := a.Out.Style
	var several []string // of a question with several answers: what is chosen so far
	for {
		choose, rest := "choose", []term.Key{{"o", "your own answer"}, {"n", "no answer"}, {"s", "no answer, and stop"}}
		if c.Multi {
			choose = "choose or take back"
			rest = append([]term.Key{{"c", "continue"}}, rest...)
		}
		a.ShowKeys(append([]term.Key{{"1" + maxSuffix(len(c.Options)), choose}}, rest...)...)
		key, ok, err := a.Key(ctx)
		if !ok || err != nil {
			return nil, a.closedAnswer(ok, err, ans)
		}
		switch i := int(key - '1'); {
		case i >= 0 && i < len(c.Options) && c.Multi:
			label := c.Options[i].Label
			if at := slices.Index(several, label); at >= 0 {
				several = slices.Delete(several, at, at+1)
			} else {
				several = append(several, label)
			}
			a.Echo(cmp.Or(strings.Join(several, ", "), "nothing"))
		case key == 'c' && len(several) > 0:
			a.Echo(strings.Join(several, ", "))
			return several, nil
		case i >= 0 && i < len(c.Options):
			a.Echo(c.Options[i].Label)
			return []string{c.Options[i].Label}, nil
		case key == 'c' && c.Multi:
			a.Echo("several") // more than nine options have no keys
			if picked, err := a.readNumbers(ctx, c); picked != nil || err != nil {
				return picked, err
			}
		case key == 'o':
			a.Echo("your own answer")
			text, ok, err := a.Prompt(ctx, "your answer: ")
			if err != nil {
				return nil, err
			}
			if text = strings.TrimSpace(text); ok && text != "" {
				return []string{text}, nil
			}
		case key == 'n' || key == 's':
			_, err := a.deny(ctx, key, "no answer", "", ans)
			return nil, err
		default:
			a.Echo("")
			a.Out.Line("%s", t.Dim("press one of the keys above"))
		}
	}
}

// readNumbers reads several numbers from one line of input.
func (a *Asker) readNumbers(ctx context.Context, c forms.Choice) ([]string, error) {
	line, ok, err := a.Prompt(ctx, "numbers, such as 1 3: ")
	if !ok || err != nil {
		return nil, err
	}
	var picked []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(c.Options) {
			a.Out.Line("%s", a.Out.Dim(term.EscapeStrict(fmt.Sprintf("%q is not one of 1%s", word, maxSuffix(len(c.Options))))))
			return nil, nil //nolint:nilerr // the question is asked again
		}
		if label := c.Options[n-1].Label; !slices.Contains(picked, label) {
			picked = append(picked, label)
		}
	}
	return picked, nil
}

// confirmAnswers shows all answers with their questions before they are sent. The result done is true if the
// user declined instead of sending the answers.
func (a *Asker) confirmAnswers(ctx context.Context, answers [][2]string, ans *approval.Answer) (again, done bool, err error) {
	t := a.Out.Style
	for _, one := range answers {
		a.Out.Line("  %s  %s", t.Dim(term.EscapeStrict(one[0])), term.EscapeStrict(one[1]))
	}
	for {
		a.ShowKeys(term.Key{"y", "send"}, term.Key{"b", "change answers"}, term.Key{"n", "no answer"}, term.Key{"s", "no answer, and stop"})
		key, ok, err := a.Key(ctx)
		if !ok || err != nil {
			return false, true, a.closedAnswer(ok, err, ans)
		}
		switch key {
		case 'y':
			a.Echo("sent")
			return false, false, nil
		case 'b':
			a.Echo("change answers")
			return true, false, nil
		case 'n', 's':
			_, err := a.deny(ctx, key, "no answer", "", ans)
			return false, true, err
		}
		a.Echo("")
	}
}
