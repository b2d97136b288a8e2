package policy

import "context"

// CanUse is a [CanUseTool] (seed 000's canUseTool(policy:)). Only as that a composite in which
// nobody had an opinion allows, as the seed has it; everywhere else no opinion leaves the
// decision to the rest of the chain.
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
