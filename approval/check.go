package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
)

// Limits of an answer, in bytes.
const (
	maxMessage = 4 << 10 // what is told to the model
	maxScope   = 4 << 10
	maxName    = 256 // who, and through what
)

// Check says whether an answer fits the question; the error wraps ErrInvalid. It does
// not look at the time, nor at whether somebody was faster.
func (q *Request) Check(a Answer) error {
	switch {
	case a.RequestID != "" && a.RequestID != q.ID:
		return invalid("it answers question %s, not %s", a.RequestID, q.ID)
	case q.Reason == record.ReasonOverride && a.Decision == AllowSession:
		return invalid("what was denied for the session can be allowed once only; hint: %s, or revoke the denial", Allow)
	case q.Person() && a.Decision.Session():
		return invalid("only a person decides about %s, each time: no answer holds for the session; hint: %s or %s", q.Tool, Allow, Deny)
	case q.OnceOnly() && q.Reason != record.ReasonOverride && a.Decision.Session():
		return invalid("what runs outside the sandbox can be allowed or denied once only; hint: %s or %s", Allow, Deny)
	}
	if err := a.check(); err != nil {
		return err
	}
	if err := a.checkPerson(*q); err != nil {
		return err
	}
	if !a.Decision.Session() {
		return nil
	}
	_, err := q.Grant(a)
	return err
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// check refuses an answer that makes no sense whatever was asked.
func (a *Answer) check() error {
	switch a.Decision {
	case Allow, Deny, AllowSession, DenySession:
	default:
		return invalid("unknown decision %q; hint: %s, %s, %s or %s", a.Decision, Allow, Deny, AllowSession, DenySession)
	}
	switch {
	case a.Scope != "" && !a.Decision.Session():
		return invalid("%s is for once and has no scope; hint: %s-session", a.Decision, a.Decision)
	case a.SaveTo != "" && !a.Decision.Session():
		return invalid("%s is for once and leaves no rule; hint: %s-session", a.Decision, a.Decision)
	case a.SaveTo != "" && !slices.Contains([]string{layernames.Local, layernames.Project, layernames.User}, a.SaveTo):
		return invalid("rules are not written into settings of the layer %.40q; hint: %s, %s or %s", a.SaveTo, layernames.Local, layernames.Project, layernames.User)
	case len(a.Scope) > maxScope:
		return invalid("a scope of %d bytes, at most %d fit", len(a.Scope), maxScope)
	case a.Stop && a.Decision.Allows():
		return invalid("only a deny can stop the turn")
	case len(a.Message) > maxMessage:
		return invalid("a message of %d bytes, at most %d are told to the model", len(a.Message), maxMessage)
	case len(a.Actor) > maxName || len(a.Via) > maxName:
		return invalid("who answers, and through what, has at most %d bytes", maxName)
	case a.Input != nil && a.Decision != Allow:
		return invalid("only a plain allow can bring another input")
	case a.Input != nil && !jsonscan.IsObject(a.Input):
		return invalid("the new input is not a JSON object")
	}
	return nil
}

// inTime refuses an allow that comes too late.
func (a *Answer) inTime(q Request, now time.Time) error {
	if !a.Decision.Allows() || q.Expires == nil || a.At.Before(*q.Expires) && now.Before(*q.Expires) {
		return nil
	}
	return fmt.Errorf("%w at %s: it counts as denied", ErrExpired, q.Expires.Format(time.RFC3339))
}

// checkScope refuses a rule that cannot be the scope of a question: it must be one
// that can be read, is about the question's tool, and covers everything that was asked.
func checkScope(q Request, g policy.Grant) error {
	rule, effect := g.Scope, g.Effect
	if name, _, _ := strings.Cut(rule, "("); !q.covers(name) {
		return invalid("the scope %q is not about %s; hint: %s", rule, q.Tool, q.example())
	}
	source := policy.RuleSource{Effect: effect, Text: rule, Layer: layernames.Session, Dir: q.Cwd}
	// What "~" stands for does not matter to whether the rule can be read.
	_, problems, err := policy.RuleOptions{Home: "/", Cwd: q.Cwd}.Compile([]policy.RuleSource{source})
	for _, p := range problems {
		if err == nil && p.Fatal {
			err = fmt.Errorf("%s; hint: %s", p.Detail, p.Hint)
		}
	}
	if err != nil {
		return invalid("the scope %q: %v", rule, err)
	}
	for _, r := range q.Requests {
		covers, err := g.Covers(r, q.Home)
		if err != nil {
			return invalid("the scope %q: %v", rule, err)
		}
		if !covers {
			return invalid("the scope %q does not cover what was asked, %q; hint: %s", rule, oneLine(r), q.example())
		}
	}
	return nil
}

// oneLine is what a request is about, short enough for an error.
func oneLine(r policy.Request) string {
	return truncate.String(strings.Join(strings.Fields(cmp.Or(r.Resource, r.Tool)), " "), 200)
}

// covers reports whether rules of this name are about the question's tool.
func (q *Request) covers(name string) bool {
	if name == q.Tool {
		return true
	}
	for _, r := range q.Requests {
		if r.Operation == policy.OpWrite && name == "Edit" || r.Operation == policy.OpRead && name == "Read" {
			return true
		}
	}
	return false
}

// example is a rule that would do.
func (q *Request) example() string {
	for _, s := range q.Scopes {
		if s.Rule != "" {
			return s.Rule
		}
	}
	return q.Tool
}
