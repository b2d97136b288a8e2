package hook

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// maxAsync bounds what is kept for [Registry.AsyncOutcomes]; the oldest goes first.
const maxAsync = 1000

// effectAsync is the effect, in the log, of a hook that was started and not waited
// for. What came of it is in an outcome of its own.
const effectAsync = "async"

// startAsync starts a hook that the agent does not wait for. It outlives the run that
// the firing belongs to, but not the registry.
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
		f.r.storeAsync(g.late())
	})
}

// asyncHook is a hook that nobody waits for, while it runs.
type asyncHook struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when it has ended
}

// startAsync runs a hook that nobody waits for, until it ends or [Registry.CancelAsync] ends it.
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

// await waits for a command that has said that it goes on by itself.
func (f *fireState) await(ctx context.Context, e *entry, res result) {
	f.log(record.HookRun{Effect: effectAsync, Exit: res.Exit}, e)
	if res.Notice != "" {
		f.notice(e, res.Notice)
	}
	g := f.asyncState()
	f.r.startAsync(ctx, func(ctx context.Context) {
		g.mergeOutcome(e, g.record(ctx, res))
		f.r.storeAsync(g.late())
	})
}

// asyncState is a firing for one hook that has been found due.
func (f *fireState) asyncState() *fireState {
	return &fireState{r: f.r, in: f.in, out: Outcome{Event: f.in.Event}, skipped: f.info().Timeout, chosen: true}
}

func (f *fireState) record(ctx context.Context, res result) result {
	start := time.Now()
	answer := result{err: errClosed}
	select {
	case late, ok := <-res.Async:
		answer.RunResult, answer.err = late, late.Err
		if !ok {
			answer.err = errors.New("it ended without an answer")
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

// late is what an outcome still means after the fact: the person and the model can
// be told things, and nothing can be decided any more.
func (f *fireState) late() Outcome {
	o := &f.out
	for _, n := range o.Notifications {
		o.Notices = append(o.Notices, Text{Text: strings.Trim(n.Title+": "+n.Body, ": ")})
	}
	if void := o.decided(); len(void) > 0 {
		o.Notices = append(o.Notices, Text{Hook: o.Ran.Hooks[0].Name, Text: "asked too late, as nobody waits for it, for " + list(void)})
	}
	return Outcome{Event: o.Event, Ran: o.Ran, Context: o.Context, Notices: o.Notices, session: f.in.SessionID}
}

// decided names what is in an outcome beside texts.
func (o *Outcome) decided() []string {
	var names []string
	for _, d := range []struct {
		is   bool
		name string
	}{
		{o.Block != nil, "a block"},
		{o.Permission != "", "a permission"},
		{o.Input != nil, "another input"},
		{o.ToolOutput != nil, "another result"},
		{len(o.Updates) > 0, "a change of policy"},
		{o.Stop != nil || o.Interrupt, "an end of the turn"},
		{o.Retry, "another try"},
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
