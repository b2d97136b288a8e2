package command

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/heap"
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

// StartupGCPercent is the garbage collector's percentage until the model has answered for the
// second time. A session's transcript is allocated once and kept. Collecting repeatedly while the
// heap grows would take a large part of a long resume, and even one collection is a noticeable part
// of a short run.
const StartupGCPercent = 400

// MakeRoom prepares the heap for a session with payloads of the given size in bytes. The index, the
// other records and the request that is built from them make the heap up to three times as large.
// Reading the payloads creates no garbage, so the collector does not run until the heap has grown
// by about twice their size.
func MakeRoom(bytes int64) {
	const small, large = 4 << 20, 64 << 20
	if bytes < small {
		return
	}
	heap.Expect(3 * bytes)
	debug.SetGCPercent(StartupGCPercent + int(2*min(bytes, large)*100/small))
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
