package question

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// Asker puts questions to the person at the terminal, one at a time, whoever asks. It
// shows exactly what would happen and takes nothing but a clear answer: keys that were
// pressed before the question was on the screen count for nothing, and Enter is no answer.
type Asker struct {
	*term.Person
	now  func() time.Time
	by   string
	keep func(layer, rule string) (*KeptRule, error)       // nil: nothing can be kept for good
	open func(layer, tree string) (command.Written, error) // of the sandbox; nil with keep

	reach func(layer, host string) (command.Written, error) // for commands in the sandbox; nil with keep
}

// ViaTerminal is how an answer from here is marked.
const ViaTerminal = "terminal"

// Nobody has denied what was asked at a terminal that went away.
const Nobody = "nobody"

// NewAsker returns nil when nobody is there to ask. The caller closes it.
func NewAsker(p *command.Program) *Asker {
	person := p.Terminal.Ask()
	if person == nil {
		return nil
	}
	return &Asker{Person: person, now: p.Now, by: cmp.Or(p.Getenv("USER"), "person")}
}

// Ask shows a question and waits for the answer. The error is the end of ctx:
// an interrupt, or somebody else's answer.
func (a *Asker) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	done, err := a.Turn(ctx)
	if err != nil {
		return approval.Answer{}, err
	}
	defer done()
	pr := a.Out
	pr.Progress().Show("")
	pr.Line("")
	ans := approval.Answer{Question: q.ID, By: a.by, Via: ViaTerminal}
	list, plan, form := Choices(&q), q.Plan(), Form(&q)
	if list == nil {
		a.Asks(func() { PrintQuestion(pr, q, a.now()) })
		a.Flush()
	}
	if list != nil || plan != "" || form != nil {
		switch {
		case form != nil:
			err = a.fillIn(ctx, q, form, &ans)
		case list != nil:
			printAsks(pr, q, len(list), a.now())
			err = a.choose(ctx, q, list, &ans)
		default:
			err = a.agree(ctx, q, &ans)
		}
		if err != nil {
			a.Out.EndLine()
			return ans, err
		}
		if ans.By != Nobody {
			ans.At = a.now()
		}
		return ans, nil
	}
	for {
		a.Offer(a.choices(q)...)
		key, ok, err := a.Key(ctx)
		if err != nil {
			pr.EndLine()
			return ans, err
		}
		if !ok {
			pr.EndLine()
			ans.Decision, ans.By, ans.Message = approval.Deny, Nobody, "input ended before there was an answer"
			return ans, nil
		}
		done, err := a.take(ctx, key, q, &ans)
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
func (a *Asker) choices(q approval.Question) []term.Key {
	yes, no := []term.Key{{"y", "yes, once"}}, []term.Key{{"n", "no"}}
	if remembers(q) {
		yes, no = append(yes, term.Key{"a", "yes, this session"}), append(no, term.Key{"d", "no, this session"})
		if a.keeps(&q) {
			yes = append(yes, term.Key{"p", "yes, always in this project"}, term.Key{"u", "yes, always for me"})
		}
	}
	return append(append(yes, no...), term.Key{"m", "no, and why"}, term.Key{"s", "no, and stop"})
}

// keeps reports whether the settings can say it for good.
func (a *Asker) keeps(q *approval.Question) bool {
	r := opens(q)
	return a.keep != nil && (r == nil || r.Operation == policy.OpWrite)
}

// opens is what a question would open in the sandbox, or nil.
func opens(q *approval.Question) *policy.Request {
	if len(q.Requests) != 1 || !q.Requests[0].Opens() {
		return nil
	}
	return &q.Requests[0]
}

// remembers reports whether an answer may hold for the session.
func remembers(q approval.Question) bool { return !q.Once() }

// take makes an answer of a key, and reports whether it did.
func (a *Asker) take(ctx context.Context, key byte, q approval.Question, ans *approval.Answer) (bool, error) {
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
		if !remembers(q) {
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
		if !remembers(q) || !a.keeps(&q) {
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

// always writes a rule into the settings, and allows the call and what is like it for the session:
// the settings count from the next run on.
func (a *Asker) always(ctx context.Context, q approval.Question, layer string, ans *approval.Answer) (bool, error) {
	ans.Decision = approval.AllowSession
	if r := opens(&q); r != nil {
		return a.openAlways(layer, r.Resource)
	}
	if r := private(&q); r != nil {
		return a.reachAlways(layer, r)
	}
	rules := slices.DeleteFunc(slices.Clone(q.Scopes), func(s approval.Scope) bool { return s.Rule == "" })
	if exact, ok := exactRule(&q); ok {
		rules = append([]approval.Scope{exact}, rules...)
	}
	if done, err := a.scope(ctx, q, rules, ans); !done || err != nil {
		return done, err
	}
	kept, err := a.keep(layer, ans.Scope)
	if err != nil {
		a.Out.Line("%s", a.Out.Red(term.EscapeStrict(term.OneLine("the rule was not kept: "+err.Error()))))
		ans.Scope = ""
		return false, nil
	}
	a.Out.Line("%s", a.Out.Dim(term.EscapeStrict(kept.String())))
	if !kept.Counts {
		a.Out.Line("%s", a.Out.Yellow(command.NotTrusted))
	}
	return true, nil
}

// private is the connection to a host at a private address that a question is about, or nil.
func private(q *approval.Question) *policy.Request {
	if len(q.Requests) != 1 || q.Requests[0].Address == "" {
		return nil
	}
	return &q.Requests[0]
}

// reachAlways writes into the settings the host and the address that it has: a rule for the host alone would
// follow the name to any other one.
func (a *Asker) reachAlways(layer string, r *policy.Request) (bool, error) {
	host, port, err := net.SplitHostPort(r.Resource)
	if err != nil {
		host = r.Resource
	}
	address := r.Address
	if port != "" {
		address = net.JoinHostPort(address, port)
	}
	if n, err := strconv.Atoi(port); err == nil && n < 1024 && n != 80 && n != 443 { // an entry without one does not open it
		host = r.Resource
	}
	for _, entry := range []string{host, address} {
		w, err := a.reach(layer, entry)
		if err != nil {
			a.Out.Line("%s", a.Out.Red(term.EscapeStrict(term.OneLine("it was not kept: "+err.Error()))))
			return false, nil
		}
		a.Out.Line("%s", a.Out.Dim(term.EscapeStrict("commands may connect to "+entry+" "+w.Place())))
		if !w.Counts {
			a.Out.Line("%s", a.Out.Yellow(command.NotTrusted))
		}
	}
	return true, nil
}

// openAlways writes into the settings what the sandbox lets commands write.
func (a *Asker) openAlways(layer, tree string) (bool, error) {
	w, err := a.open(layer, tree)
	if err != nil {
		a.Out.Line("%s", a.Out.Red(term.EscapeStrict(term.OneLine("it was not kept: "+err.Error()))))
		return false, nil
	}
	a.Out.Line("%s", a.Out.Dim(term.EscapeStrict("commands may write "+tree+" "+w.Place())))
	if !w.Counts {
		a.Out.Line("%s", a.Out.Yellow(command.NotTrusted))
	}
	return true, nil
}

// exactRule is a rule for exactly the command that a question is about. One with a text that a rule
// would take for a pattern has none.
func exactRule(q *approval.Question) (approval.Scope, bool) {
	if len(q.Requests) != 1 || q.Requests[0].Operation != policy.OpCommand || strings.ContainsAny(q.Requests[0].Resource, "*\\\n") {
		return approval.Scope{}, false
	}
	s := approval.Scope{
		Rule: q.Tool + "(" + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(q.Requests[0].Resource) + ")",
		Text: "exactly this command",
	}
	return s, q.Check(approval.Answer{Decision: approval.AllowSession, Scope: s.Rule}) == nil
}

// scope asks what a decision for longer than one call covers.
func (a *Asker) scope(ctx context.Context, q approval.Question, offered []approval.Scope, ans *approval.Answer) (bool, error) {
	t := a.Out.Style
	if (opens(&q) != nil || private(&q) != nil) && len(offered) == 1 {
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
			keys = append([]term.Key{{"1" + upTo(n), "what it covers"}}, keys...)
		}
		a.Offer(keys...)
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
func (a *Asker) edit(ctx context.Context, q approval.Question, ans *approval.Answer) (bool, error) {
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

func upTo(n int) string {
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
