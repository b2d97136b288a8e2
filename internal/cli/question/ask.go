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

// Asker asks the user at the terminal, one approval or question at a time. It shows exactly what
// would happen and accepts only a clear answer. It discards keys that were pressed before the
// request was on the screen, and Enter alone is not an answer.
type Asker struct {
	*term.Prompter
	now   func() time.Time
	by    string
	saved string                                                                     // what the last answer has saved, and where
	saver func(q *approval.Request, ans *approval.Answer) (*savedrule.Result, error) // nil if rules cannot be saved
}

// ViaTerminal is the value of the field Via in an answer from this terminal.
const ViaTerminal = "terminal"

// TerminalClosed is the actor of a denial that was recorded because the terminal was closed.
const TerminalClosed = "nobody"

// NewAsker returns an asker for the program's terminal, or nil if there is none. The caller closes
// it.
func NewAsker(p *command.Program) *Asker {
	prompter := p.Terminal.Ask()
	if prompter == nil {
		return nil
	}
	return AskerOn(p, prompter)
}

// AskerOn returns an asker that asks with a prompter, such as that of a [term.Dialog].
func AskerOn(p *command.Program, prompter *term.Prompter) *Asker {
	return &Asker{Prompter: prompter, now: p.Clock, by: cmp.Or(p.Getenv("USER"), "person")}
}

// Ask shows an approval request and waits for the answer. The error is the cause of ctx, which is
// either an interrupt or the answer of another client.
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
		a.ShowQuestion(func() { PrintApproval(pr, q, a.now()) })
		a.Flush()
	}
	if list != nil || plan != "" || form != nil {
		switch {
		case form != nil:
			err = a.askForm(ctx, q, form, &ans)
		case list != nil:
			printAsks(pr, q, len(list), a.now())
			err = a.askChoices(ctx, q, list, &ans)
		default:
			err = a.askPlan(ctx, q, &ans)
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
		a.ShowKeys(a.keys(q)...)
		key, ok, err := a.Key(ctx)
		if err != nil {
			pr.EndLine()
			return ans, err
		}
		if !ok {
			pr.EndLine()
			ans.Decision, ans.Actor, ans.Message = approval.Deny, TerminalClosed, "the input ended before there was an answer"
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

// keys returns the keys of an approval request.
func (a *Asker) keys(q approval.Request) []term.Key {
	yes, no := []term.Key{{"y", "allow once"}}, []term.Key{{"n", "deny"}}
	if canApplyToSession(q) {
		yes, no = append(yes, term.Key{"a", "allow this session"}), append(no, term.Key{"d", "deny this session"})
		if a.canSave(&q) {
			yes = append(yes, term.Key{"p", "always allow in this project"}, term.Key{"u", "always allow for me"})
		}
	}
	return append(append(yes, no...), term.Key{"m", "deny and say why"}, term.Key{"s", "deny and stop"})
}

// canSave reports whether the answer can be saved in the settings.
func (a *Asker) canSave(q *approval.Request) bool {
	r := q.SandboxOpens()
	return a.saver != nil && (r == nil || r.Operation == policy.OpWrite)
}

// EnableSaving lets the user save an answer in the settings.
func (a *Asker) EnableSaving(e *env.Env, place saverule.Target) {
	a.saver = func(q *approval.Request, ans *approval.Answer) (*savedrule.Result, error) {
		plan, err := saverule.NewPlan(e, place, q, ans)
		if err != nil {
			return nil, err
		}
		return plan.Write()
	}
}

// Saved says what the last answer has saved, and in which file, or "".
func (a *Asker) Saved() string { return a.saved }

// canApplyToSession reports whether an answer may apply to the whole session.
func canApplyToSession(q approval.Request) bool { return !q.OnceOnly() }

// parseKey turns a key into an answer, and reports whether the answer is complete.
func (a *Asker) parseKey(ctx context.Context, key byte, q approval.Request, ans *approval.Answer) (bool, error) {
	decide := func(d approval.Decision, words string) (bool, error) {
		ans.Decision = d
		a.Echo(words)
		return true, nil
	}
	switch key {
	case 'y':
		return decide(approval.Allow, "allow once")
	case 'n':
		return decide(approval.Deny, "deny")
	case 's':
		ans.Stop = true
		return decide(approval.Deny, "deny and stop")
	case 'm':
		a.Echo("deny")
		line, ok, err := a.Prompt(ctx, "tell the model why: ")
		if err != nil || !ok {
			return false, err
		}
		ans.Decision, ans.Message = approval.Deny, strings.TrimSpace(line)
		return true, nil
	case 'a', 'd':
		if !canApplyToSession(q) {
			break
		}
		ans.Decision = approval.AllowSession
		words := "allow this session"
		if key == 'd' {
			ans.Decision, words = approval.DenySession, "deny this session"
		}
		a.Echo(words)
		return a.askScope(ctx, q, q.Scopes, ans)
	case 'p', 'u':
		if !canApplyToSession(q) || !a.canSave(&q) {
			break
		}
		layer, words := layernames.Local, "always allow in this project"
		if key == 'u' {
			layer, words = layernames.User, "always allow for me"
		}
		a.Echo(words)
		return a.allowAlways(ctx, q, layer, ans)
	}
	a.Echo("")
	a.Out.Line("%s", a.Out.Dim("press one of the keys above; y and n apply to this call only"))
	return false, nil
}

// allowAlways saves a rule, or a sandbox permission, in the settings. It also allows the call and
// similar calls for the session, because new settings apply only from the next run.
func (a *Asker) allowAlways(ctx context.Context, q approval.Request, layer string, ans *approval.Answer) (bool, error) {
	ans.Decision = approval.AllowSession
	if q.SandboxOpens() == nil && saverule.Hosts(&q) == nil {
		if done, err := a.askScope(ctx, q, q.Rules(), ans); !done || err != nil {
			return done, err
		}
	}
	ans.SaveTo = layer
	kept, err := a.saver(&q, ans)
	if err != nil {
		a.Out.Line("%s", a.Out.Red(term.EscapeStrict(term.OneLine("not saved: "+err.Error()))))
		ans.Scope, ans.SaveTo = "", ""
		return false, nil
	}
	PrintSaved(a.Out, kept)
	a.saved = kept.Text
	return true, nil
}

// PrintSaved prints what an answer saved, and in which file.
func PrintSaved(p *term.Printer, kept *savedrule.Result) {
	text, _ := strings.CutSuffix(kept.Text, "; "+saverule.NotTrusted)
	p.Line("%s", p.Dim(term.EscapeStrict(text)))
	if !kept.Counts {
		p.Line("%s", p.Yellow(saverule.NotTrusted))
	}
}

// askScope asks for the scope of a decision that applies to more than one call.
func (a *Asker) askScope(ctx context.Context, q approval.Request, offered []approval.Scope, ans *approval.Answer) (bool, error) {
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
			keys = append([]term.Key{{"1" + maxSuffix(n), "choose the scope"}}, keys...)
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
			if ok, err := a.readRule(ctx, q, ans); ok || err != nil {
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

// readRule reads a rule from the user.
func (a *Asker) readRule(ctx context.Context, q approval.Request, ans *approval.Answer) (bool, error) {
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

func maxSuffix(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("-%d", n)
}

// Confirm asks a question that is answered with yes or no. If there is no terminal, it returns an error with the given
// hint.
func Confirm(ctx context.Context, p *command.Program, question, otherwise string) (bool, error) {
	a := NewAsker(p)
	if a == nil {
		return false, outcome.Invalid("cannot ask for confirmation without a terminal", otherwise)
	}
	defer a.Close()
	return a.Yes(ctx, question)
}
