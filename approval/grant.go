package approval

import (
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// Grant is what a session decision about the question leaves for the session: it covers
// the scope of the answer, or exactly what was asked. Its ID and Name are for
// [policy.Guards.Check] to fill in.
//
// ErrInvalid for a decision that leaves nothing, for a scope that is no rule about
// the question's tool or does not cover all that was asked, and for a call that asks for several things at once when no
// scope says what is to be remembered.
func (q *Request) Grant(a Answer) (policy.Grant, error) {
	g := policy.Grant{Effect: policy.Deny, Tool: q.Tool, Question: q.ID, By: a.Actor, At: a.At}
	switch {
	case !a.Decision.Session():
		return policy.Grant{}, invalid("%s is for once: it leaves no grant", a.Decision)
	case a.Decision.Allows():
		g.Effect = policy.Allow
		g.Confined = q.confined()
	}
	if a.Scope != "" {
		if g.Scope = a.Scope; path.IsAbs(q.Cwd) { // where a bare path of it was written
			g.Dir = path.Clean(q.Cwd)
		}
		if err := checkScope(*q, g); err != nil {
			return policy.Grant{}, err
		}
		return g, nil
	}
	if !q.single() {
		return policy.Grant{}, invalid("the call asks for several things at once; hint: give a scope, such as %s", q.example())
	}
	if len(q.Requests) > 0 {
		r := q.Requests[0]
		g.Operation, g.Resource = r.Operation, r.Resource
		g.Address = r.Address
		if r.Operation == policy.OpCommand {
			g.Cwd = r.Cwd
		}
	}
	return g, nil
}

// confined reports whether a sandbox would hold all that was asked about.
func (q *Request) confined() bool {
	return len(q.Requests) > 0 && !slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return !r.Confined })
}

// single reports whether one exact grant covers the whole call.
func (q *Request) single() bool {
	for _, r := range q.Requests {
		first := q.Requests[0]
		if r.Operation != first.Operation || r.Resource != first.Resource || r.Cwd != first.Cwd || r.Address != first.Address {
			return false
		}
	}
	return true
}
