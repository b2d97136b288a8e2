package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var errClosed = errors.New("the hook registry is closed")

// timeoutError reports that a hook reached its timeout.
type timeoutError struct{ limit time.Duration }

func (o *timeoutError) Error() string { return fmt.Sprintf("timed out after %v", o.limit) }
func (o *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// fireState is the state of one [Registry.Fire], or of one asynchronous hook.
type fireState struct {
	r            *Registry
	in           Input  // the input, with the changes of the earlier hooks
	inputChanged bool   // in.Requests no longer describes the call
	inputHook    *entry // the last hook that changed the call
	out          Outcome
	seen         []string      // identities of the commands that ran
	remaining    time.Duration // the time that remains for all commands together at the end of a session
	chosen       bool          // the hooks are already selected
}

// pick selects hooks by event, dialect and matcher. Their conditions are evaluated when it is their
// turn.
func (f *fireState) pick(list []*entry) []*entry {
	picked := make([]*entry, 0, len(list))
	for _, e := range list {
		if !e.matchesDialect(&f.in) {
			continue
		}
		ok, notice := true, ""
		if !e.match.all {
			ok, notice = e.match.look(f.in.field(e.info.Matches))
		}
		if notice != "" {
			f.notice(e, notice)
		}
		if ok {
			picked = append(picked, e)
		}
	}
	return picked
}

// matchesDialect reports whether the event occurs in the hook's dialect. Claude Code's Stop is
// fired only for turns that the model ended, and its Setup only for a requested setup.
func (e *entry) matchesDialect(in *Input) bool {
	if e.kind == typeFunction || e.Dialect == dialectSeed {
		return true
	}
	switch e.Event {
	case Stop:
		return in.Reason == "" || in.Reason == "completed"
	case Setup:
		return in.Trigger != ""
	}
	return true
}

// runAll runs the hooks in order.
func (f *fireState) runAll(ctx context.Context, list []*entry) {
	for len(list) > 0 {
		n := batchSize(list)
		f.run(ctx, list[:n])
		list = list[n:]
	}
}

// rerunEarlier handles a changed input of a call. The hooks before the last hook that changed the
// input saw a different input, so they run again with the final input, except async hooks. Their
// own changes are ignored then, so that the repetition ends. If the call is blocked or denied,
// nothing runs again.
func (f *fireState) rerunEarlier(ctx context.Context, picked []*entry) {
	n := slices.Index(picked, f.inputHook)
	if n <= 0 || f.out.Block != nil || f.out.Permission == "deny" {
		return
	}
	f.in.Tool.Settled, f.seen = true, nil
	f.runAll(ctx, slices.DeleteFunc(slices.Clone(picked[:n]), func(e *entry) bool { return e.Async }))
}

// batchSize returns the number of hooks at the head of the list that run together. Functions run
// one after another. Commands run in parallel unless the event rewrites something.
func batchSize(list []*entry) int {
	together := func(e *entry) bool {
		return !e.Async && (e.kind == typeFunction) == (list[0].kind == typeFunction)
	}
	if list[0].Async || list[0].kind != typeFunction && list[0].info.Rewrites {
		return 1
	}
	n := 1
	for n < len(list) && together(list[n]) {
		n++
	}
	return n
}

func (f *fireState) run(ctx context.Context, list []*entry) {
	switch {
	case ctx.Err() != nil:
		f.fail(list, cancelled(ctx))
	case f.r.done():
		f.fail(list, errClosed)
	case list[0].Async:
		f.startAsync(ctx, list[0])
	case list[0].kind == typeFunction:
		f.functions(ctx, list)
	default:
		f.commands(ctx, list)
	}
}

// due decides, when it is a hook's turn, whether the hook runs. The hook runs if its condition
// holds and neither it nor an identical hook has run.
func (f *fireState) due(e *entry) bool {
	if f.chosen {
		return true
	}
	if !f.holds(e) || e.key != "" && slices.Contains(f.seen, e.key) || !f.r.claim(e) {
		return false
	}
	if e.key != "" { // only a hook that runs replaces identical hooks
		f.seen = append(f.seen, e.key)
	}
	return true
}

// holds evaluates the condition. The requests of a rewritten call are not known, so the hook runs.
func (f *fireState) holds(e *entry) bool {
	return e.cond == nil || f.inputChanged || e.cond.holds(&f.in)
}

// claim reports whether a hook may run now, and removes a hook that may run only once.
func (r *Registry) claim(e *entry) bool {
	if !e.Once {
		return true
	}
	if !e.done.CompareAndSwap(false, true) {
		return false
	}
	r.remove(e)
	return true
}

// result is the result of running a hook.
type result struct {
	RunResult
	err  error
	took time.Duration
}

// commands runs commands and HTTP hooks in parallel. Their results are merged in order.
func (f *fireState) commands(ctx context.Context, list []*entry) {
	start := time.Now()
	var due []*entry
	for _, e := range list {
		if f.due(e) {
			due = append(due, e)
		}
	}
	results := make([]result, len(due))
	var wg sync.WaitGroup
	for i, e := range due[min(1, len(due)):] {
		wg.Go(func() { results[i+1] = f.command(ctx, e) })
	}
	if len(due) > 0 {
		results[0] = f.command(ctx, due[0])
	}
	wg.Wait()
	f.remaining -= time.Since(start)
	for i, e := range due {
		if results[i].Async != nil {
			f.await(ctx, e, results[i])
			continue
		}
		f.mergeOutcome(e, results[i])
	}
}

func (f *fireState) command(ctx context.Context, e *entry) (res result) {
	start := f.r.now()
	defer func() {
		if p := recover(); p != nil {
			res = result{err: fmt.Errorf("panicked: %v", p)}
		}
		res.took = f.r.now().Sub(start)
	}()
	limit := f.timeLimit(e)
	if limit <= 0 {
		return result{err: errors.New("skipped: the event's time limit was reached")}
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	defer context.AfterFunc(f.r.ctx(), cancel)()
	a, err := f.r.o.Runner.Run(within, &e.Definition, &f.in)
	return result{RunResult: a, err: f.failureCause(ctx, within, err)}
}

// failureCause returns the failure of a command by its cause: the end of the run, the end of the
// registry, the timeout, or err itself. ctx is the context of the run; within also has the timeout.
func (f *fireState) failureCause(ctx, within context.Context, err error) error {
	var late *timeoutError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return cancelled(ctx)
	case f.r.done():
		return errClosed
	case !errors.As(context.Cause(within), &late):
		return err
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return late
	}
	return fmt.Errorf("%w: %w", late, err)
}

// sharedLimit returns the time limit that commands in Claude's dialect share at the end of a
// session. It is the default limit of the event, or the longest timeout of one of the commands if
// that is longer.
func sharedLimit(list []*entry) time.Duration {
	var most time.Duration
	for _, e := range list {
		if e.sharesTime() {
			most = max(most, e.limit, e.info.Timeout)
		}
	}
	return most
}

func (e *entry) sharesTime() bool {
	return e.Event == SessionEnd && e.Dialect == dialectClaude && e.kind != typeFunction && !e.Async
}

func (f *fireState) timeLimit(e *entry) time.Duration {
	switch {
	case !e.sharesTime():
		return e.limit
	case e.explicit:
		return min(e.limit, f.remaining)
	}
	return f.remaining
}

// cancelledError reports that the run ended before the hook finished. It is not reported in a
// notice, because the user who stopped the run knows it.
type cancelledError struct{ cause error }

func (s *cancelledError) Error() string { return "the run was stopped: " + s.cause.Error() }
func (s *cancelledError) Unwrap() error { return s.cause }

func cancelled(ctx context.Context) error { return &cancelledError{context.Cause(ctx)} }
