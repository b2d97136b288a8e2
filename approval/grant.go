package approval

import (
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// Grant is what a session decision leaves for the rest of the run: it covers the
// scope of the answer, or exactly what was asked. Its ID and Name are for
// [policy.Guards.Check] to fill in.
//
// ErrInvalid for a decision that leaves nothing, for a scope that is no rule about
// the question's tool, and when exactly what was asked takes more than one grant;
// see [Grants].
func Grant(q Question, a Answer) (policy.Grant, error) {
	all, err := Grants(q, a)
	if err != nil {
		return policy.Grant{}, err
	}
	if len(all) != 1 {
		return policy.Grant{}, invalid("the call asks for %d things at once; hint: choose a scope", len(all))
	}
	return all[0], nil
}

// Grants is [Grant] for a call that asks for several things: one grant each.
func Grants(q Question, a Answer) ([]policy.Grant, error) {
	g := policy.Grant{Effect: policy.Deny, Tool: q.Tool, Question: q.ID, By: a.By, At: a.At}
	switch {
	case !a.Decision.Session():
		return nil, invalid("%s is for once: it leaves no grant", a.Decision)
	case a.Decision.Allows():
		g.Effect = policy.Allow
	}
	if a.Scope != "" {
		if err := checkScope(q, a.Scope, g.Effect); err != nil {
			return nil, err
		}
		g.Scope = a.Scope
		return []policy.Grant{g}, nil
	}
	if len(q.Requests) == 0 {
		return []policy.Grant{g}, nil
	}
	var all []policy.Grant
	for _, r := range q.Requests {
		g.Operation, g.Resource, g.Cwd = r.Operation, r.Resource, ""
		if r.Operation == policy.OpCommand {
			g.Cwd = r.Cwd
		}
		same := func(o policy.Grant) bool {
			return o.Operation == g.Operation && o.Resource == g.Resource && o.Cwd == g.Cwd
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, g)
		}
	}
	return all, nil
}
