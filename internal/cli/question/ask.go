package question

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// Asker puts questions to the person at the terminal, one at a time, whoever asks. It
// shows exactly what would happen and takes nothing but a clear answer: keys that were
// pressed before the question was on the screen count for nothing, and Enter is no answer.
type Asker struct {
	*term.Prompter
	now   func() time.Time
	by    string
	saver func(q *approval.Request, ans *approval.Answer) (*savedrule.Result, error) // nil: nothing can be kept for good
}

// ViaTerminal is how an answer from here is marked.
const ViaTerminal = "terminal"

// TerminalClosed has denied what was asked at a terminal that went away.
const TerminalClosed = "nobody"

// NewAsker returns nil when nobody is there to ask. The caller closes it.
func NewAsker(p *command.Program) *Asker {
	person := p.Terminal.Ask()
	if person == nil {
		return nil
	}
	return &Asker{Prompter: person, now: p.Clock, by: cmp.Or(p.Getenv("USER"), "person")}
}

// Ask shows a question and waits for the answer. The error is the end of ctx:
// an interrupt, or somebody else's answer.
func (a *Asker) Ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	done, err := a.Lock(ctx)
	if err != nil {
		return approval.Answer{}, err
	}
	defer done()
	pr := a.Out
	pr.Progress().Show("")
	pr.Line("")
	ans := approval.Answer{RequestID: q.ID, Actor: a.by, Via: ViaTerminal}
	list, plan, form := Choices(&q), q.Plan(), Form(&q)
	if list == nil {
		a.ShowQuestion(func() { PrintQuestion(pr, q, a.now()) })
		a.Flush()
	}
	if list != nil || plan != "" || form != nil {
		switch {
		case form != nil:
			err = a.askForm(ctx, q, form, &ans)
		case list != nil:
			printAsks(pr, q, len(list), a.now())
			err = a.choose(ctx, q, list, &ans)
		default:
			err = a.confirmAll(ctx, q, &ans)
		}
		if err != nil {
			a.Out.EndLine()
			return ans, err
		}
		if ans.Actor != TerminalClosed {
			ans.At = a.now()
		}
		return ans, nil
	}
	for {
		a.ShowKeys(a.choices(q)...)
		key, ok, err := a.Key(ctx)
		if err != nil {
			pr.EndLine()
			return ans, err
		}
		if !ok {
			pr.EndLine()
			ans.Decision, ans.Actor, ans.Message = approval.Deny, TerminalClosed, "input ended before there was an answer"
			return ans, nil
		}
		done, err := a.parseKey(ctx, key, q, &ans)
		if err != nil {
			pr.EndLine()
			return ans, err
		}
		if done {
			ans.At = a.now()
			return ans, nil
		}
	}
}

// choices are the keys of a question.
func (a *Asker) choices(q approval.Request) []term.Key {
	yes, no := []term.Key{{"y", "yes, once"}}, []term.Key{{"n", "no"}}
	if scopeText(q) {
		yes, no = append(yes, term.Key{"a", "yes, this session"}), append(no, term.Key{"d", "no, this session"})
		if a.canSave(&q) {
			yes = append(yes, term.Key{"p", "yes, always in this project"}, term.Key{"u", "yes, always for me"})
		}
	}
	return append(append(yes, no...), term.Key{"m", "no, and why"}, term.Key{"s", "no, and stop"})
}

// canSave reports whether the settings can say it for good.
func (a *Asker) canSave(q *approval.Request) bool {
	r := q.SandboxOpens()
	return a.saver != nil && (r == nil || r.Operation == policy.OpWrite)
}

// EnableSaving lets the person keep an answer for good, in the settings of a place.
func (a *Asker) EnableSaving(e *env.Env, place saverule.Target) {
	a.saver = func(q *approval.Request, ans *approval.Answer) (*savedrule.Result, error) {
		plan, err := saverule.NewPlan(e, place, q, ans)
		if err != nil {
			return nil, err
		}
		return plan.Write()
	}
}

// scopeText reports whether an answer may hold for the session.
func scopeText(q approval.Request) bool { return !q.OnceOnly() }

// parseKey makes an answer of a key, and reports whether it did.
func (a *Asker) parseKey(ctx context.Context, key byte, q approval.Request, ans *approval.Answer) (bool, error) {
	said := func(d approval.Decision, words string) (bool, error) {
		ans.Decision = d
		a.Echo(words)
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
		a.Echo("no")
		line, ok, err := a.Prompt(ctx, "tell the model why: ")
		if err != nil || !ok {
			return false, err
		}
		ans.Decision, ans.Message = approval.Deny, strings.TrimSpace(line)
		return true, nil
	case 'a', 'd':
		if !scopeText(q) {
			break
		}
		ans.Decision = approval.AllowSession
		words := "yes, for this session"
		if key == 'd' {
			ans.Decision, words = approval.DenySession, "no, for this session"
		}
		a.Echo(words)
		return a.scope(ctx, q, q.Scopes, ans)
	case 'p', 'u':
		if !scopeText(q) || !a.canSave(&q) {
			break
		}
		layer, words := layernames.Local, "yes, always in this project"
		if key == 'u' {
			layer, words = layernames.User, "yes, always for me"
		}
		a.Echo(words)
		return a.always(ctx, q, layer, ans)
	}
	a.Echo("")
	a.Out.Line("%s", a.Out.Dim("press one of the keys; y and n are for this call alone"))
	return false, nil
}

// always writes a rule, or what is opened in the sandbox, into the settings, and allows the call and what is
// like it for the session: the settings count from the next run on.
func (a *Asker) always(ctx context.Context, q approval.Request, layer string, ans *approval.Answer) (bool, error) {
	ans.Decision = approval.AllowSession
	if q.SandboxOpens() == nil && saverule.Hosts(&q) == nil {
		if done, err := a.scope(ctx, q, q.Rules(), ans); !done || err != nil {
			return done, err
		}
	}
	ans.SaveTo = layer
	kept, err := a.saver(&q, ans)
	if err != nil {
		a.Out.Line("%s", a.Out.Red(term.EscapeStrict(term.OneLine("it was not kept: "+err.Error()))))
		ans.Scope, ans.SaveTo = "", ""
		return false, nil
	}
	PrintSaved(a.Out, kept)
	return true, nil
}

// PrintSaved tells what an answer for good has written, and where.
func PrintSaved(p *term.Printer, kept *savedrule.Result) {
	text, _ := strings.CutSuffix(kept.Text, "; "+saverule.NotTrusted)
	p.Line("%s", p.Dim(term.EscapeStrict(text)))
	if !kept.Counts {
		p.Line("%s", p.Yellow(saverule.NotTrusted))
	}
}

// scope asks what a decision for longer than one call covers.
func (a *Asker) scope(ctx context.Context, q approval.Request, offered []approval.Scope, ans *approval.Answer) (bool, error) {
	t := a.Out.Style
	if (q.SandboxOpens() != nil || saverule.Hosts(&q) != nil) && len(offered) == 1 {
		a.Out.Line("%s", t.Dim(term.EscapeStrict(ScopeText(offered[0]))))
		return true, nil
	}
	offered = offered[:min(len(offered), 9)]
	for i, s := range offered {
		a.Out.Line("  %s %s", t.Bold(fmt.Sprint(i+1)), term.EscapeStrict(ScopeText(s)))
	}
	for {
		keys := []term.Key{{"e", "write a rule"}, {"b", "back"}}
		if n := len(offered); n > 0 {
			keys = append([]term.Key{{"1" + joinMax(n), "what it covers"}}, keys...)
		}
		a.ShowKeys(keys...)
		key, ok, err := a.Key(ctx)
		if err != nil || !ok {
			return false, err
		}
		switch n := int(key - '0'); {
		case key == 'b':
			a.Echo("back")
			return false, nil
		case key == 'e':
			a.Echo("")
			if ok, err := a.edit(ctx, q, ans); ok || err != nil {
				return ok, err
			}
		case n >= 1 && n <= len(offered):
			ans.Scope = offered[n-1].Rule
			a.Echo(ScopeText(offered[n-1]))
			return true, nil
		default:
			a.Echo("")
		}
	}
}

// edit takes a rule that the person writes.
func (a *Asker) edit(ctx context.Context, q approval.Request, ans *approval.Answer) (bool, error) {
	for _, s := range q.Scopes {
		if s.Rule != "" {
			a.Out.Line("%s", a.Out.Dim("for example "+term.EscapeStrict(s.Rule)))
			break
		}
	}
	line, ok, err := a.Prompt(ctx, "rule: ")
	if err != nil || !ok {
		return false, err
	}
	with := *ans
	with.Scope = strings.TrimSpace(line)
	if err := q.Check(with); err != nil {
		a.Out.Line("%s", term.EscapeStrict(term.OneLine(err.Error())))
		return false, nil
	}
	*ans = with
	return true, nil
}

func joinMax(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("-%d", n)
}

// Confirm puts a question that is answered with yes or no. Where nobody is there to
// answer, the error's hint is what to do instead.
func Confirm(ctx context.Context, p *command.Program, question, otherwise string) (bool, error) {
	a := NewAsker(p)
	if a == nil {
		return false, outcome.Invalid("nobody is there to confirm it", otherwise)
	}
	defer a.Close()
	return a.Yes(ctx, question)
}
