package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// plan prints all of a plan. Its lines are no diff, whatever they begin with.
func (p *printer) plan(text string) {
	for l := range strings.Lines(text) {
		p.line("  %s", exact(strings.TrimRight(l, "\r\n")))
	}
}

// choice prints a question of the model with the answers that it offers.
func (p *printer) choice(i, n int, c approval.Choice) {
	t := p.term
	of, letters := "", 0
	if n > 1 {
		of = fmt.Sprintf("%d of %d  ", i+1, n)
		of, letters = t.dim(of), len(of)
	}
	header := exact(c.Header)
	p.hang("  "+of+t.yellow(header)+"  ", 4+letters+utf8.RuneCountInString(header), exact(c.Question), t.bold)
	for j, o := range c.Options {
		label := exact(o.Label)
		p.hang("    "+t.bold(strconv.Itoa(j+1))+"  "+label+"  ", 9+utf8.RuneCountInString(label), exact(oneLine(o.Description)), t.dim)
		for l := range strings.Lines(o.Preview) {
			p.line("       %s", t.dim(exact(strings.TrimRight(l, "\r\n"))))
		}
	}
}

// hang prints text behind a head of so many letters. On a screen it is broken between words,
// and stands below the head where that leaves too little room.
func (p *printer) hang(head string, letters int, text string, style func(string) string) {
	const in = 7
	if !p.term.tty {
		p.line("%s", strings.TrimRight(head+text, " "))
		return
	}
	lines := folded(text, p.term.columns()-letters, p.term.columns()-in)
	p.line("%s", strings.TrimRight(head+style(lines[0]), " "))
	for _, l := range lines[1:] {
		p.line("%s%s", strings.Repeat(" ", in), style(l))
	}
}

// folded breaks text between words into lines of at most so many letters: the first, and
// the others. There is at least one.
func folded(text string, first, other int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			room := other
			if len(lines) == 0 {
				room = first
			}
			switch n := utf8.RuneCountInString(word); {
			case line == "" && (n <= room || len(lines) > 0):
				line = word
			case line != "" && utf8.RuneCountInString(line)+1+n <= room:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// agree asks about a plan. What it returns is whether the person has decided.
func (a *asker) agree(ctx context.Context, q approval.Question, ans *approval.Answer) error {
	for {
		a.offer(keyed{"y", "yes, ask before each change"}, keyed{"e", "yes, and edit files without asking"},
			keyed{"n", "no, plan on"}, keyed{"m", "no, and why"}, keyed{"s", "no, and stop"})
		key, ok, err := a.keys.key(ctx)
		if !ok || err != nil {
			return a.ended(ok, err, ans)
		}
		mode, words := policy.ModeDefault, "yes, ask before each change"
		switch key {
		case 'e':
			mode, words = policy.ModeAcceptEdits, "yes, and edit files without asking"
			fallthrough
		case 'y':
			a.tell(words)
			ans.Decision = approval.Allow
			ans.Input, err = approval.Planned(q, mode)
			return err
		}
		if done, err := a.refuse(ctx, key, "no, plan on", "what is to be different: ", ans); done || err != nil {
			return err
		}
	}
}

// refuse makes a no of a key, and reports whether it did.
func (a *asker) refuse(ctx context.Context, key byte, no, why string, ans *approval.Answer) (bool, error) {
	switch key {
	case 'n':
		a.tell(no)
	case 's':
		a.tell("no, and stop")
		ans.Stop = true
	case 'm':
		a.tell("no")
		line, ok, err := a.prompt(ctx, why)
		if err != nil || !ok {
			return false, err
		}
		ans.Message = strings.TrimSpace(line)
	default:
		a.tell("")
		a.out.line("%s", a.out.term.dim("press one of the keys"))
		return false, nil
	}
	ans.Decision = approval.Deny
	return true, nil
}

// ended is what becomes of a question when the terminal goes away.
func (a *asker) ended(ok bool, err error, ans *approval.Answer) error {
	a.out.endLine()
	if err == nil && !ok {
		ans.Decision, ans.By, ans.Message = approval.Deny, nobody, "input ended before there was an answer"
	}
	return err
}

// choose asks the questions of the model, one after the other.
func (a *asker) choose(ctx context.Context, q approval.Question, list []approval.Choice, ans *approval.Answer) error {
	for {
		answers := map[string][]string{}
		for i, c := range list {
			a.out.choice(i, len(list), c)
			a.keys.flush()
			said, err := a.pick(ctx, c, ans)
			if said == nil || err != nil {
				return err
			}
			answers[c.Question] = said
		}
		if len(list) > 1 {
			var said [][2]string
			for _, c := range list {
				said = append(said, [2]string{c.Header, strings.Join(answers[c.Question], ", ")})
			}
			again, done, err := a.send(ctx, said, ans)
			if done || err != nil {
				return err
			}
			if again {
				continue
			}
		}
		in, err := approval.Answered(q, answers)
		if err != nil {
			return err
		}
		ans.Decision, ans.Input = approval.Allow, in
		return nil
	}
}

// pick asks one question. Nothing is picked when the person has said no to all.
func (a *asker) pick(ctx context.Context, c approval.Choice, ans *approval.Answer) ([]string, error) {
	t := a.out.term
	keys := []keyed{{"1" + upTo(len(c.Options)), "choose"}, {"o", "other words"}, {"n", "no answer"}, {"s", "no, and stop"}}
	if c.Multi {
		keys = append([]keyed{{"c", "choose several"}}, keys...)
	}
	for {
		a.offer(keys...)
		key, ok, err := a.keys.key(ctx)
		if !ok || err != nil {
			return nil, a.ended(ok, err, ans)
		}
		switch i := int(key - '1'); {
		case i >= 0 && i < len(c.Options):
			a.tell(c.Options[i].Label)
			return []string{c.Options[i].Label}, nil
		case key == 'c' && c.Multi:
			a.tell("several")
			if said, err := a.several(ctx, c); said != nil || err != nil {
				return said, err
			}
		case key == 'o':
			a.tell("other words")
			text, ok, err := a.prompt(ctx, "your answer: ")
			if err != nil {
				return nil, err
			}
			if text = strings.TrimSpace(text); ok && text != "" {
				return []string{text}, nil
			}
		case key == 'n' || key == 's':
			_, err := a.refuse(ctx, key, "no answer", "", ans)
			return nil, err
		default:
			a.tell("")
			a.out.line("%s", t.dim("press one of the keys"))
		}
	}
}

// several takes numbers in a line.
func (a *asker) several(ctx context.Context, c approval.Choice) ([]string, error) {
	line, ok, err := a.prompt(ctx, "numbers, such as 1 3: ")
	if !ok || err != nil {
		return nil, err
	}
	var said []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(c.Options) {
			a.out.line("%s", a.out.term.dim(exact(fmt.Sprintf("%q is none of 1%s", word, upTo(len(c.Options))))))
			return nil, nil //nolint:nilerr // he is asked again
		}
		if label := c.Options[n-1].Label; !slices.Contains(said, label) {
			said = append(said, label)
		}
	}
	return said, nil
}

// send shows all answers, each behind what was asked, before they are given. done: the
// person has said no instead.
func (a *asker) send(ctx context.Context, said [][2]string, ans *approval.Answer) (again, done bool, err error) {
	t := a.out.term
	for _, one := range said {
		a.out.line("  %s  %s", t.dim(exact(one[0])), exact(one[1]))
	}
	for {
		a.offer(keyed{"y", "send"}, keyed{"b", "answer anew"}, keyed{"n", "no answer"}, keyed{"s", "no, and stop"})
		key, ok, err := a.keys.key(ctx)
		if !ok || err != nil {
			return false, true, a.ended(ok, err, ans)
		}
		switch key {
		case 'y':
			a.tell("sent")
			return false, false, nil
		case 'b':
			a.tell("anew")
			return true, false, nil
		case 'n', 's':
			_, err := a.refuse(ctx, key, "no answer", "", ans)
			return false, true, err
		}
		a.tell("")
	}
}
