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

// CauseOf replaces what an ended context caused by why it ended.
func CauseOf(ctx context.Context, err error) error {
	if s, ok := errors.AsType[SignalError](context.Cause(ctx)); ok && outcome.FromError(err) == outcome.Interrupted {
		return End(s.By)
	}
	return err
}

// ExitWith is a result's outcome: a refusal that nobody was asked about, or that
// stopped the turn, counts unless something worse happened.
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

// StartupGCPercent is the garbage collector's percentage until the second answer. A
// session's transcript is allocated once and stays; to look for garbage in it
// again and again while the heap grows is a good part of a long resume, and to look once
// in what the start allocates is a part of a short run.
const StartupGCPercent = 400

// MakeRoom prepares the heap for a session whose payloads have so many bytes: with its index,
// what is left over and the request they become up to three times as many. While they are read there is
// nothing to collect, so the collector waits for twice as much.
func MakeRoom(bytes int64) {
	const small, large = 4 << 20, 64 << 20
	if bytes < small {
		return
	}
	heap.Expect(3 * bytes)
	debug.SetGCPercent(StartupGCPercent + int(2*min(bytes, large)*100/small))
}

// DecidedByPerson reports whether a person decided, or was about to.
func DecidedByPerson(d policy.Decision) bool {
	switch d.By {
	case "nobody", "timeout", "approval": // and "approval": what was approved had changed
		return false
	}
	return d.By == "interrupt" || d.Grant != "" || d.PersonAsked
}
