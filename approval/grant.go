package approval

import (
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// Grant returns the grant for a session decision. It covers the scope of the answer, or exactly the
// request if the answer has no scope. [policy.Guards.Check] fills in its ID and Name.
//
// It returns ErrInvalid in these cases: the decision is not for the session; the scope is not a
// rule for the tool of the request, or does not cover the whole request; the call has several
// requests and the answer has no scope.
func (q *Request) Grant(a Answer) (policy.Grant, error) {
	g := policy.Grant{Effect: policy.Deny, Tool: q.Tool, Question: q.ID, By: a.Actor, At: a.At}
	switch {
	case !a.Decision.Session():
		return policy.Grant{}, invalid("%s applies once and makes no grant", a.Decision)
	case a.Decision.Allows():
		g.Effect = policy.Allow
		g.Confined = q.confined()
	}
	if a.Scope != "" {
		if g.Scope = a.Scope; path.IsAbs(q.Cwd) { // relative paths in the rule start in this folder
			g.Dir = path.Clean(q.Cwd)
		}
		if err := checkScope(*q, g); err != nil {
			return policy.Grant{}, err
		}
		return g, nil
	}
	if !q.single() {
		return policy.Grant{}, invalid("the call has several requests; hint: give a scope, such as %s", q.example())
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

// confined reports whether all requests would run in the sandbox.
func (q *Request) confined() bool {
	return len(q.Requests) > 0 && !slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return !r.Confined })
}

// single reports whether one grant without a scope covers the whole call, because all requests are
// about the same operation and resource.
func (q *Request) single() bool {
	for _, r := range q.Requests {
		first := q.Requests[0]
		if r.Operation != first.Operation || r.Resource != first.Resource || r.Cwd != first.Cwd || r.Address != first.Address {
			return false
		}
	}
	return true
}
