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

// Limits for an answer, in bytes.
const (
	maxMessage = 4 << 10 // Message
	maxScope   = 4 << 10
	maxName    = 256 // Actor and Via
)

// Check reports whether an answer is valid for the approval request. The error wraps ErrInvalid.
// Check does not test whether the request has expired or was already answered.
func (q *Request) Check(a Answer) error {
	switch {
	case a.RequestID != "" && a.RequestID != q.ID:
		return invalid("the answer is for approval request %s, not %s", a.RequestID, q.ID)
	case q.Reason == record.ReasonOverride && a.Decision == AllowSession:
		return invalid("the session denies this call, so it can be allowed only once; hint: %s, or revoke the denial", Allow)
	case q.Person() && a.Decision.Session():
		return invalid("%s needs a new answer from a person each time, so the answer cannot cover the session; hint: %s or %s", q.Tool, Allow, Deny)
	case q.OnceOnly() && q.Reason != record.ReasonOverride && a.Decision.Session():
		return invalid("a call outside the sandbox can be allowed or denied only once; hint: %s or %s", Allow, Deny)
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

// check rejects an answer that is invalid for every request.
func (a *Answer) check() error {
	switch a.Decision {
	case Allow, Deny, AllowSession, DenySession:
	default:
		return invalid("unknown decision %q; hint: %s, %s, %s or %s", a.Decision, Allow, Deny, AllowSession, DenySession)
	}
	switch {
	case a.Scope != "" && !a.Decision.Session():
		return invalid("%s applies once and takes no scope; hint: %s-session", a.Decision, a.Decision)
	case a.SaveTo != "" && !a.Decision.Session():
		return invalid("%s applies once and cannot save a rule; hint: %s-session", a.Decision, a.Decision)
	case a.SaveTo != "" && !slices.Contains([]string{layernames.Local, layernames.Project, layernames.User}, a.SaveTo):
		return invalid("cannot save rules in the settings layer %.40q; hint: %s, %s or %s", a.SaveTo, layernames.Local, layernames.Project, layernames.User)
	case len(a.Scope) > maxScope:
		return invalid("scope of %d bytes is too long; the maximum is %d", len(a.Scope), maxScope)
	case a.Stop && a.Decision.Allows():
		return invalid("only a deny can stop the turn; hint: leave stop out")
	case len(a.Message) > maxMessage:
		return invalid("message of %d bytes is too long; the maximum is %d", len(a.Message), maxMessage)
	case len(a.Actor) > maxName || len(a.Via) > maxName:
		return invalid("actor or via is too long; the maximum is %d bytes", maxName)
	case a.Input != nil && a.Decision != Allow:
		return invalid("only a plain allow can change the input; hint: decide allow, without a session scope")
	case a.Input != nil && !jsonscan.IsObject(a.Input):
		return invalid("the new input is not a JSON object")
	}
	return nil
}

// inTime rejects an allow that comes after the request has expired.
func (a *Answer) inTime(q Request, now time.Time) error {
	if !a.Decision.Allows() || q.Expires == nil || a.At.Before(*q.Expires) && now.Before(*q.Expires) {
		return nil
	}
	return fmt.Errorf("%w at %s, so it was denied", ErrExpired, q.Expires.Format(time.RFC3339))
}

// checkScope rejects a rule that cannot be the scope of the request. The rule must be valid, apply
// to the tool of the request, and cover the whole request.
func checkScope(q Request, g policy.Grant) error {
	rule, effect := g.Scope, g.Effect
	if name, _, _ := strings.Cut(rule, "("); !q.covers(name) {
		return invalid("scope %q is not about %s; hint: %s", rule, q.Tool, q.example())
	}
	source := policy.RuleSource{Effect: effect, Text: rule, Layer: layernames.Session, Dir: q.Cwd}
	// The meaning of "~" does not affect whether the rule is valid.
	_, problems, err := policy.RuleOptions{Home: "/", Cwd: q.Cwd}.Compile([]policy.RuleSource{source})
	for _, p := range problems {
		if err == nil && p.Fatal {
			err = fmt.Errorf("%s; hint: %s", p.Detail, p.Hint)
		}
	}
	if err != nil {
		return invalid("scope %q: %v", rule, err)
	}
	for _, r := range q.Requests {
		covers, err := g.Covers(r, q.Home)
		if err != nil {
			return invalid("scope %q: %v", rule, err)
		}
		if !covers {
			return invalid("scope %q does not cover the request %q; hint: %s", rule, oneLine(r), q.example())
		}
	}
	return nil
}

// oneLine returns the resource of a request, short enough for an error message.
func oneLine(r policy.Request) string {
	return truncate.String(strings.Join(strings.Fields(cmp.Or(r.Resource, r.Tool)), " "), 200)
}

// covers reports whether rules of this name apply to the tool of the request.
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

// example returns a valid rule for the request, for use in hints.
func (q *Request) example() string {
	for _, s := range q.Scopes {
		if s.Rule != "" {
			return s.Rule
		}
	}
	return q.Tool
}
