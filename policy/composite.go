package policy

import (
	"context"
)

// Composite asks its members in order (seed 000's CompositePolicy). The first deny
// ends it and is the answer; members without an opinion are skipped; a member that
// asks makes the answer at least ask (the last question counts); otherwise it
// allows when a member did, with the input that members put in place: each member
// sees the input of those before it. Nobody with an opinion is no opinion, also
// when there is no member. A nil member denies.
//
// Its members may be the host's: a guard asks it under watch, like any policy that
// is not this package's.
type Composite []Policy

// Evaluate asks the members.
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
			return Verdict{Effect: Deny, Reason: "a member of the composite policy answered " + quotedName(string(v.Effect))}
		}
	}
	if out.Effect == Allow && replaced {
		out.Input = r.Input
	}
	return out
}

// CanUse is a [CanUseTool], as the Open Agent SDK's canUseTool(policy:). It allows when no member
// of the composite has an opinion; elsewhere the rest of the chain decides then.
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
