package hook

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// maxAsync is the maximum number of outcomes that are kept for [Registry.AsyncOutcomes]; the oldest
// is dropped first.
const maxAsync = 1000

// effectAsync is the effect in the log for a hook that runs asynchronously. Its result is in a
// separate outcome.
const effectAsync = "async"

// startAsync starts an asynchronous hook. The hook may outlive the run that fired it, but ends when
// the registry is closed.
func (f *fireState) startAsync(ctx context.Context, e *entry) {
	if !f.due(e) {
		return
	}
	f.log(record.HookRun{Effect: effectAsync}, e)
	g := f.asyncState()
	f.r.startAsync(ctx, func(ctx context.Context) {
		if e.kind == typeFunction {
			g.functions(ctx, []*entry{e})
		} else {
			res := g.command(ctx, e)
			if res.Async != nil {
				res = g.record(ctx, res)
			}
			g.mergeOutcome(e, res)
		}
		f.r.storeAsync(g.lateOutcome())
	})
}

// asyncHook is a running asynchronous hook.
type asyncHook struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when the hook has ended
}

// startAsync runs f, an asynchronous hook, on another goroutine. [Registry.CancelAsync] ends the
// context of f.
func (r *Registry) startAsync(ctx context.Context, f func(context.Context)) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	h := &asyncHook{end: end, over: make(chan struct{})}
	r.mu.Lock()
	if r.async == nil {
		r.async = map[*asyncHook]bool{}
	}
	r.async[h] = true
	r.mu.Unlock()
	r.firing.Go(func() {
		defer func() {
			end(nil)
			r.mu.Lock()
			delete(r.async, h)
			r.mu.Unlock()
			close(h.over)
		}()
		f(ctx)
	})
}

// await waits, on another goroutine, for the result of a command that has detached itself.
func (f *fireState) await(ctx context.Context, e *entry, res result) {
	f.log(record.HookRun{Effect: effectAsync, Exit: res.Exit}, e)
	if res.Notice != "" {
		f.notice(e, res.Notice)
	}
	g := f.asyncState()
	f.r.startAsync(ctx, func(ctx context.Context) {
		g.mergeOutcome(e, g.record(ctx, res))
		f.r.storeAsync(g.lateOutcome())
	})
}

// asyncState returns the state for one asynchronous hook, which is already selected.
func (f *fireState) asyncState() *fireState {
	return &fireState{r: f.r, in: f.in, out: Outcome{Event: f.in.Event}, remaining: f.info().Timeout, chosen: true}
}

// record waits for the result of a detached command. The command is stopped when ctx ends.
func (f *fireState) record(ctx context.Context, res result) result {
	start := time.Now()
	answer := result{err: errClosed}
	select {
	case late, ok := <-res.Async:
		answer.RunResult, answer.err = late, late.Err
		if !ok {
			answer.err = errors.New("it ended without a result")
		}
	case <-f.r.ctx().Done():
	case <-ctx.Done():
		if res.Stop != nil {
			res.Stop()
			<-res.Async
		}
		answer.err = cancelled(ctx)
	}
	answer.took = res.took + time.Since(start)
	return answer
}

// lateOutcome reduces an outcome to the parts that still apply after the event: the texts for the
// user and for the model. Decisions are too late.
func (f *fireState) lateOutcome() Outcome {
	o := &f.out
	for _, n := range o.Notifications {
		o.Notices = append(o.Notices, Text{Text: strings.Trim(n.Title+": "+n.Body, ": ")})
	}
	if void := o.decisionNames(); len(void) > 0 {
		o.Notices = append(o.Notices, Text{Hook: o.Ran.Hooks[0].Name, Text: "async hook result ignored: " + list(void)})
	}
	return Outcome{Event: o.Event, Ran: o.Ran, Context: o.Context, Notices: o.Notices, session: f.in.SessionID}
}

// decisionNames returns the names of those parts of an outcome that are not texts.
func (o *Outcome) decisionNames() []string {
	var names []string
	for _, d := range []struct {
		is   bool
		name string
	}{
		{o.Block != nil, "a block"},
		{o.Permission != "", "a permission"},
		{o.Input != nil, "a new input"},
		{o.ToolOutput != nil, "a new result"},
		{len(o.Updates) > 0, "a change of policy"},
		{o.Stop != nil || o.Interrupt, "an end of the turn"},
		{o.Retry, "a retry"},
		{len(o.Terminal) > 0, "a terminal sequence"},
		{o.SessionTitle != "", "a session title"},
		{o.InitialMessage != "", "a first message"},
		{len(o.WatchPaths) > 0, "paths to watch"},
		{o.WorktreePath != "", "a worktree"},
	} {
		if d.is {
			names = append(names, d.name)
		}
	}
	return names
}

func (r *Registry) storeAsync(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.outcomes) == maxAsync {
		r.outcomes = r.outcomes[1:]
	}
	r.outcomes = append(r.outcomes, o)
}
