package command

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// CauseOf replaces a context error by the cause that ended the context.
func CauseOf(ctx context.Context, err error) error {
	if s, ok := errors.AsType[SignalError](context.Cause(ctx)); ok && outcome.FromError(err) == outcome.Interrupted {
		return End(s.By)
	}
	return err
}

// ExitWith returns the outcome of a result. A denial decides the outcome if no one was asked about
// it or it stopped the turn, and nothing worse happened.
func ExitWith(ctx context.Context, r *event.Result) outcome.Outcome {
	out := outcome.FromResult(r)
	if out == outcome.Failed && r.Err != nil {
		if o := outcome.FromError(r.Err); o != outcome.Interrupted {
			out = o
		}
	}
	if out == outcome.Interrupted {
		if s, ok := errors.AsType[SignalError](context.Cause(ctx)); ok {
			return s.By
		}
		if len(r.Denials) > 0 {
			return outcome.Denied
		}
	}
	unasked := func(d policy.Decision) bool { return !DecidedByPerson(d) }
	if out == outcome.OK && slices.ContainsFunc(r.Denials, unasked) {
		return outcome.Denied
	}
	return out
}

// DecidedByPerson reports whether a person made the decision: by an answer, a grant or an
// interrupt. It is also true if a person was asked and the program that requested the call ended
// before the answer.
func DecidedByPerson(d policy.Decision) bool {
	switch d.By {
	case "nobody", "timeout", "approval": // "approval" means that the call changed after it was approved
		return false
	}
	return d.By == "interrupt" || d.Grant != "" || d.PersonAsked
}
