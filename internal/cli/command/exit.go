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

// ExitWith returns the outcome of a result. A denial that no one was asked about, or one that
// stopped the turn, decides the exit code unless something worse happened.
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

// StartupGCPercent is the garbage collector's percentage until the second answer. A session's
// transcript is allocated once and kept. Collecting repeatedly while the heap grows would take a
// large part of a long resume, and even one collection is a noticeable part of a short run.
const StartupGCPercent = 400

// MakeRoom prepares the heap for a session with payloads of the given size in bytes. With the
// index, the rest of the records and the request built from them, the heap gets up to three times
// as large. While the payloads are read there is no garbage, so the collector waits until the heap
// has grown twice as much.
func MakeRoom(bytes int64) {
	const small, large = 4 << 20, 64 << 20
	if bytes < small {
		return
	}
	heap.Expect(3 * bytes)
	debug.SetGCPercent(StartupGCPercent + int(2*min(bytes, large)*100/small))
}

// DecidedByPerson reports whether a person made the decision, or would have made it.
func DecidedByPerson(d policy.Decision) bool {
	switch d.By {
	case "nobody", "timeout", "approval": // "approval" means that the approved call had changed
		return false
	}
	return d.By == "interrupt" || d.Grant != "" || d.PersonAsked
}
