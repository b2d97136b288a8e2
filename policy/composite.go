package policy

import (
	"context"
)

// Composite evaluates its members in order (the Open Agent SDK's CompositePolicy). The first deny
// is the result. Members without an opinion are skipped. If a member asks, the result is at least
// ask, with the reason of the last ask. Otherwise the composite allows if one of its members
// allows. Each member sees the input that earlier members have set, and the result contains the
// last input. If no member has an opinion, or there are no members, the composite has no opinion. A
// nil member denies.
//
// Members may be code of the host. A guard therefore runs the composite with a time limit and
// catches its panics, as for every policy from outside this package.
type Composite []Policy

// Evaluate runs the members.
func (c Composite) Evaluate(r Request) Verdict {
	var out Verdict
	replaced := false
	for _, member := range c {
		if member == nil {
			return Verdict{Effect: Deny, Reason: "a member of the composite policy is nil"}
		}
		v := member.Evaluate(r)
		switch v.Effect {
		case Deny:
			return v
		case Ask:
			out = v
		case Allow:
			if v.Input != nil {
				r.Input, replaced = v.Input, true
			}
			if out.Effect == NoOpinion {
				out = v
			}
		case NoOpinion:
		default:
			return Verdict{Effect: Deny, Reason: "a member of the composite policy returned the unknown effect " + quotedName(string(v.Effect))}
		}
	}
	if out.Effect == Allow && replaced {
		out.Input = r.Input
	}
	return out
}

// CanUse is a [CanUseTool] (the Open Agent SDK's canUseTool(policy:)). As a callback, a composite
// whose members all have no opinion allows the call, as in that SDK. Everywhere else, if the
// composite has no opinion, the rest of the chain decides.
func (c Composite) CanUse(ctx context.Context, r Request) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	v := c.Evaluate(r)
	if v.Effect == NoOpinion {
		return Verdict{Effect: Allow, Reason: "no member of the composite policy objects"}, nil
	}
	return v, nil
}
