package policy

import (
	"context"
	"errors"
)

// CanUse makes a policy the host's callback (seed 000's canUseTool(policy:)). Only
// there a [Composite] in which nobody had an opinion allows, as the seed has it;
// everywhere else no opinion leaves the decision to the rest of the chain.
func CanUse(p Policy) CanUseTool {
	return func(ctx context.Context, r Request) (Verdict, error) {
		if p == nil {
			return Verdict{}, errors.New("the policy behind the callback is nil")
		}
		if err := ctx.Err(); err != nil {
			return Verdict{}, err
		}
		v := p.Evaluate(r)
		if _, ok := unnamed(p).(Composite); ok && v.Effect == None {
			return Verdict{Effect: Allow, Reason: "no member of the composite policy objects"}, nil
		}
		return v, nil
	}
}

// unnamed takes names off a policy.
func unnamed(p Policy) Policy {
	for {
		n, ok := p.(Named)
		if !ok {
			return p
		}
		p = n.Policy
	}
}
