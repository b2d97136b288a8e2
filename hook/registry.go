package hook

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// Options configures [New]. The zero value works for functions.
type Options struct {
	// Runner runs commands and HTTP hooks; without one they are rejected. A Runner that is an
	// io.Closer is closed with the registry.
	Runner Runner
	// Strict treats a failing hook as a block on events that guard (strictHooks). That is always so
	// for functions and for the Open Agent SDK's dialect.
	Strict bool
	// Rules says how names in a hook's "if" are resolved.
	Rules policy.RuleOptions
	Clock func() time.Time // default time.Now
}

// Runner runs hooks that are not functions. The error is a failure of the hook (see
// [Definition].OnFailure); a block by exit code 2 is a RunResult. It returns soon after ctx has
// ended, and nothing keeps running. It neither changes nor retains d and in. It may be called from
// several goroutines at once.
type Runner interface {
	Run(ctx context.Context, d *Definition, in *Input) (RunResult, error)
}

// RunResult is the result of running a hook.
type RunResult struct {
	Output *Output // nil: no output
	Exit   *int    // exit code of a command
	// Async is set if the command printed {"async": true} and continues detached. It delivers the
	// real result once.
	Async <-chan RunResult
	// Stop ends a detached command; Async then delivers its result. If Stop is nil, the command cannot be ended.
	Stop func()
	// Notice is a text for the user about output that was cut off and actions that the sandbox refused.
	Notice string
	// Err is the failure of a detached hook, in the result from Async.
	Err error
}

// Registry holds hooks and fires events. It is safe for concurrent use.
type Registry struct {
	o     Options
	table atomic.Pointer[table] // replaced as a whole, so that Fire holds no lock while hooks run

	mu       sync.Mutex // guards the following fields and replacing the table
	end      context.Context
	cancel   context.CancelFunc
	closed   bool
	firing   sync.WaitGroup // firings and asynchronous hooks
	outcomes []Outcome      // see AsyncOutcomes
	async    map[*asyncHook]bool
}

// New returns an empty registry.
func New(o *Options) *Registry {
	r := &Registry{}
	if o != nil {
		r.o = *o
	}
	r.end, r.cancel = context.WithCancel(context.Background())
	return r
}

// Register adds hooks after the existing ones: all of them, or none and an *[Error]. The spelling
// of an event selects the hook's dialect.
func (r *Registry) Register(list ...Definition) error {
	added := make([]*entry, len(list))
	for i, d := range list {
		e, err := r.newEntry(d)
		if err != nil {
			return placed(err, i, len(list))
		}
		added[i] = e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table.Store(r.table.Load().with(added))
	return nil
}

// HandleFunc adds a function. matcher is as in [Definition]; "" matches everything.
func (r *Registry) HandleFunc(e Event, matcher string, f func(ctx context.Context, in Input) (*Output, error)) error {
	return r.Register(Definition{Event: e, Matcher: matcher, Func: f})
}

// Has reports whether anything is registered for e.
func (r *Registry) Has(e Event) bool { return r != nil && len(r.of(e)) > 0 }

// Outside reports whether a command or an HTTP hook is registered for e: a hook that depends on
// something outside this process.
func (r *Registry) Outside(e Event) bool {
	return r != nil && slices.ContainsFunc(r.of(e), func(e *entry) bool { return e.Type() != typeFunction })
}

// Hooks lists the registered hooks in order, with defaults filled in.
func (r *Registry) Hooks() []Definition {
	t := r.table.Load()
	if t == nil {
		return nil
	}
	list := make([]Definition, len(t.all))
	for i, e := range t.all {
		list[i] = e.Definition
		list[i].Timeout = e.limit
	}
	return list
}

// Fire runs the hooks that match an event and merges their results. They run in order, each with
// the input as the earlier ones left it; on events that rewrite nothing, consecutive commands and
// HTTP hooks run in parallel. If one changes the input of a call, the earlier hooks run once more
// with the new input and [Input].Settled: an allow applies only to the input that its hook saw.
// Later hooks run even after a block. Fire never fails: failures of hooks are in the outcome. Once
// ctx has ended no hook is started, and each counts as failed; see [Definition].OnFailure. A nil
// registry fires nothing.
func (r *Registry) Fire(ctx context.Context, in Input) Outcome {
	if r == nil {
		return Outcome{Event: in.Event}
	}
	list := r.of(in.Event)
	f := &fireState{r: r, in: in, out: Outcome{Event: in.Event}}
	if len(list) == 0 {
		if _, _, err := parseEvent(string(in.Event)); err != nil {
			f.out.Notices = append(f.out.Notices, Text{Text: err.Error()})
		}
		return f.out
	}
	picked := f.pick(list)
	if len(picked) == 0 {
		return f.out
	}
	if !r.enter() {
		f.fail(picked, errClosed)
		return f.out
	}
	defer r.firing.Done()
	f.skipped = shared(picked)
	f.runAll(ctx, picked)
	f.rerunEarlier(ctx, picked)
	return f.out
}

// AsyncOutcomes returns the results that asynchronous hooks have produced for a session
// ([Input].SessionID) since the last call, one outcome each: texts for the model and the user, and
// the record of the run. The last 1000 of all sessions are kept.
func (r *Registry) AsyncOutcomes(session string) []Outcome {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var list, others []Outcome
	for _, o := range r.outcomes {
		if o.session == session {
			list = append(list, o)
		} else {
			others = append(others, o)
		}
	}
	r.outcomes = others
	return list
}

// CancelAsync ends the running asynchronous hooks and waits for them. Hooks that start later are
// not affected.
func (r *Registry) CancelAsync(why error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	list := slices.Collect(maps.Keys(r.async))
	r.mu.Unlock()
	for _, h := range list {
		h.end(why)
	}
	for _, h := range list {
		<-h.over
	}
}

// Close ends running hooks and waits for them; functions that ignore their context are abandoned.
// After that every hook counts as failed without running.
func (r *Registry) Close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
	var err error
	if c, ok := r.o.Runner.(io.Closer); ok && !again {
		err = c.Close()
	}
	r.firing.Wait()
	return err
}

// enter registers a firing; false if the registry is closed.
func (r *Registry) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.firing.Add(1)
	}
	return !r.closed
}

// ctx returns a context that ends when the registry is closed.
func (r *Registry) ctx() context.Context {
	if r.end == nil {
		return context.Background()
	}
	return r.end
}

func (r *Registry) done() bool { return r.ctx().Err() != nil }

func (r *Registry) now() time.Time {
	if r.o.Clock != nil {
		return r.o.Clock()
	}
	return time.Now()
}

// placed adds the index of the definition to an error.
func placed(err error, i, of int) error {
	var e *Error
	if of == 1 || !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Field = "[" + strconv.Itoa(i) + "]"
	if e.Field != "" {
		at.Field += "." + e.Field
	}
	return &at
}
