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

// Options adjusts [New]. The zero value works, for functions.
type Options struct {
	// Runner runs commands and HTTP hooks; without one they are refused. One that is
	// an io.Closer is closed with the registry.
	Runner Runner
	// Strict makes what cannot be asked count as a block on events that guard
	// (strictHooks); functions and seed 000's dialect are so anyway.
	Strict bool
	// Rules say what names in the "if" of a hook mean.
	Rules policy.RuleOptions
	Clock func() time.Time // default time.Now
}

// Runner runs a hook that is no function. The error is a failure of the hook
// (see [Definition].OnFailure); a block by exit code 2 is an Answer. It returns soon after
// ctx has ended, with nothing left running, and neither changes d and in nor keeps
// them. It may be called from several goroutines at once.
type Runner interface {
	Run(ctx context.Context, d *Definition, in *Input) (RunResult, error)
}

// RunResult is what came of running a hook.
type RunResult struct {
	Output *Output // nil: nothing to say
	Exit   *int    // of a command
	// Detached: the command printed {"async": true} and goes on by itself; Later gives
	// its real answer once.
	Async <-chan RunResult
	// Stop ends a command that goes on by itself, in the background: Later says when it has.
	// Nil: it cannot be ended.
	Stop func()
	// Notice is for the person: what was cut off, what the sandbox refused.
	Notice string
	// Err is the failure of a hook that went on by itself, in what Later gives.
	Err error
}

// Registry holds hooks and fires events. It is safe for concurrent use.
type Registry struct {
	o     Options
	table atomic.Pointer[table] // replaced as a whole, so that firing takes no lock while it runs hooks

	mu       sync.Mutex // of what follows, and of replacing the table
	end      context.Context
	cancel   context.CancelFunc
	closed   bool
	firing   sync.WaitGroup // firings, and hooks that nobody waits for
	outcomes []Outcome      // see Late
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

// Register adds hooks after those that are there. All or none: errors are *[Error].
// An event may be spelled in either dialect, which is then the hook's.
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

// HandleFunc adds a function. matcher is that of [Definition]; "" is all.
func (r *Registry) HandleFunc(e Event, matcher string, f func(ctx context.Context, in Input) (*Output, error)) error {
	return r.Register(Definition{Event: e, Matcher: matcher, Func: f})
}

// Has reports whether anything is registered for e.
func (r *Registry) Has(e Event) bool { return r != nil && len(r.of(e)) > 0 }

// Outside reports whether a command or an HTTP hook is registered for e: one that
// hears of things outside of this process.
func (r *Registry) Outside(e Event) bool {
	return r != nil && slices.ContainsFunc(r.of(e), func(e *entry) bool { return e.Type() != typeFunction })
}

// Hooks lists what is registered, in order, with defaults filled in.
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

// Fire tells the hooks that match of a moment and merges what they say. They run
// in order, each with the input as those before have left it; where nothing can be
// rewritten, commands and HTTP hooks that follow one another run side by side. When one
// has changed the input of a call, those before it are asked again about the new input,
// once, with [Input].Settled: an allow counts only for the input that its hook saw. A
// block does not keep later hooks from being told. It never fails: what goes wrong
// with a hook is in the outcome. Once ctx has ended no hook is started, which counts
// as a failure of each, see [Definition].OnFailure. A nil registry fires nothing.
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

// AsyncOutcomes returns what hooks that nobody waited for have said since about a session
// ([Input].SessionID), one outcome each: texts for the model and the person, and the record
// of the run. The last 1000 of all sessions are kept.
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

// CancelAsync ends the hooks that nobody waits for, and waits until they have ended. Later ones
// run as before.
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

// Close ends hooks that still run, and waits for that; functions that do not heed
// their context are left behind. From then on no hook is run: each counts as failed.
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

// enter counts a firing; false when the registry has been closed.
func (r *Registry) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.firing.Add(1)
	}
	return !r.closed
}

// ctx ends when the registry is closed.
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

// placed says which of several definitions an error is about.
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
