package hook

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// maxLate bounds what is kept for [Registry.Late]; the oldest goes first.
const maxLate = 1000

// effectAsync is the effect, in the log, of a hook that was started and not waited
// for. What came of it is in an outcome of its own.
const effectAsync = "async"

// later starts a hook that the agent does not wait for. It outlives the run that
// the firing belongs to, but not the registry.
func (f *firing) later(ctx context.Context, e *entry) {
	if !f.due(e) {
		return
	}
	f.log(record.HookRun{Effect: effectAsync}, e)
	g := f.apart()
	f.r.goLate(ctx, func(ctx context.Context) {
		if e.kind == typeFunction {
			g.functions(ctx, []*entry{e})
		} else {
			res := g.command(ctx, e)
			if res.Later != nil {
				res = g.heard(ctx, res)
			}
			g.take(e, res)
		}
		f.r.keep(g.late())
	})
}

// lateHook is a hook that nobody waits for, while it runs.
type lateHook struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when it has ended
}

// goLate runs a hook that nobody waits for, until it ends or [Registry.EndLate] ends it.
func (r *Registry) goLate(ctx context.Context, f func(context.Context)) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	h := &lateHook{end: end, over: make(chan struct{})}
	r.mu.Lock()
	if r.late == nil {
		r.late = map[*lateHook]bool{}
	}
	r.late[h] = true
	r.mu.Unlock()
	r.firing.Go(func() {
		defer func() {
			end(nil)
			r.mu.Lock()
			delete(r.late, h)
			r.mu.Unlock()
			close(h.over)
		}()
		f(ctx)
	})
}

// await waits for a command that has said that it goes on by itself.
func (f *firing) await(ctx context.Context, e *entry, res result) {
	f.log(record.HookRun{Effect: effectAsync, Exit: res.Exit}, e)
	if res.Notice != "" {
		f.notice(e, res.Notice)
	}
	g := f.apart()
	f.r.goLate(ctx, func(ctx context.Context) {
		g.take(e, g.heard(ctx, res))
		f.r.keep(g.late())
	})
}

// apart is a firing for one hook that has been found due.
func (f *firing) apart() *firing {
	return &firing{r: f.r, in: f.in, out: Outcome{Event: f.in.Event}, left: f.info().Timeout, chosen: true}
}

func (f *firing) heard(ctx context.Context, res result) result {
	start := time.Now()
	answer := result{err: errClosed}
	select {
	case late, ok := <-res.Later:
		answer.Answer, answer.err = late, late.Err
		if !ok {
			answer.err = errors.New("it ended without an answer")
		}
	case <-f.r.life().Done():
	case <-ctx.Done():
		if res.Stop != nil {
			res.Stop()
			<-res.Later
		}
		answer.err = cancelled(ctx)
	}
	answer.took = res.took + time.Since(start)
	return answer
}

// late is what an outcome still means after the fact: the person and the model can
// be told things, and nothing can be decided any more.
func (f *firing) late() Outcome {
	o := &f.out
	for _, n := range o.Notes {
		o.Notices = append(o.Notices, Said{What: strings.Trim(n.Title+": "+n.Body, ": ")})
	}
	if void := o.decided(); len(void) > 0 {
		o.Notices = append(o.Notices, Said{By: o.Ran.Hooks[0].Name, What: "asked too late, as nobody waits for it, for " + list(void)})
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

func (r *Registry) keep(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.said) == maxLate {
		r.said = r.said[1:]
	}
	r.said = append(r.said, o)
}
