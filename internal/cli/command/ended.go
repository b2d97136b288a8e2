package command

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// StoppedBy replaces what an ended context caused by why it ended.
func StoppedBy(ctx context.Context, err error) error {
	if s, ok := errors.AsType[Stopped](context.Cause(ctx)); ok && outcome.Of(err) == outcome.Interrupted {
		return End(s.By)
	}
	return err
}

// Ending is a result's outcome: a refusal that nobody was asked about, or that
// stopped the turn, counts unless something worse happened.
func Ending(ctx context.Context, r *event.Result) outcome.Outcome {
	out := outcome.OfResult(r)
	if out == outcome.Failed && r.Err != nil {
		if o := outcome.Of(r.Err); o != outcome.Interrupted {
			out = o
		}
	}
	if out == outcome.Interrupted {
		if s, ok := errors.AsType[Stopped](context.Cause(ctx)); ok {
			return s.By
		}
		if len(r.Denials) > 0 {
			return outcome.Denied
		}
	}
	unasked := func(d policy.Decision) bool { return !Answered(d) }
	if out == outcome.OK && slices.ContainsFunc(r.Denials, unasked) {
		return outcome.Denied
	}
	return out
}

// OpeningGC is the garbage collector's percentage until the second answer. A
// session's transcript is allocated once and stays; to look for garbage in it
// again and again while the heap grows is a good part of a long resume, and to look once
// in what the start allocates is a part of a short run.
const OpeningGC = 400

// Answered reports whether a person decided, or was about to.
func Answered(d policy.Decision) bool {
	switch d.By {
	case "nobody", "timeout", "approval": // and "approval": what was approved had changed
		return false
	}
	return d.By == "interrupt" || d.Grant != "" || d.Asked
}
