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

// Options configures [New]. The zero value is enough for functions.
type Options struct {
	// Runner runs commands and HTTP hooks; without a Runner, such hooks are rejected. A Runner that
	// is an io.Closer is closed with the registry.
	Runner Runner
	// Strict treats a failing hook as a block on events that guard (strictHooks). Functions and the
	// Open Agent SDK's dialect always behave this way.
	Strict bool
	// Rules contains the folders that paths in a hook's "if" refer to.
	Rules policy.RuleOptions
	Clock func() time.Time // default time.Now
}

// Runner runs hooks that are not functions. The error is a failure of the hook (see
// [Definition].OnFailure); a block by exit code 2 is returned as a RunResult. Run returns soon
// after ctx has ended, and no process of the hook keeps running. Run neither changes nor retains d
// and in. It may be called from several goroutines at once.
type Runner interface {
	Run(ctx context.Context, d *Definition, in *Input) (RunResult, error)
}

// RunResult is the result of running a hook.
type RunResult struct {
	Output *Output // nil: no output
	Exit   *int    // exit code of a command
	// Async is set if the command printed {"async": true} and continues detached. Async delivers
	// the real result once.
	Async <-chan RunResult
	// Stop ends a detached command; Async then delivers its result. If Stop is nil, the command
	// cannot be ended.
	Stop func()
	// Notice is a text for the user, for example about output that was cut off or actions that the
	// sandbox refused.
	Notice string
	// Err is the failure of a detached hook; it is set in the result from Async.
	Err error
}

// Registry holds hooks and fires events. It is safe for concurrent use.
type Registry struct {
	o     Options
	table atomic.Pointer[table] // replaced as a whole, so that Fire holds no lock while hooks run

	mu       sync.Mutex // protects the following fields and the replacement of the table
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

// Register adds hooks after the existing ones. It adds all of them, or adds none and returns an
// *[Error]. The spelling of an event selects the hook's dialect.
func (r *Registry) Register(list ...Definition) error {
	added := make([]*entry, len(list))
	for i, d := range list {
		e, err := r.newEntry(d)
		if err != nil {
			return withIndex(err, i, len(list))
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

// Has reports whether any hook is registered for e.
func (r *Registry) Has(e Event) bool { return r != nil && len(r.of(e)) > 0 }

// Outside reports whether a command or an HTTP hook is registered for e. Such a hook depends on
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

// Fire runs the hooks that match an event and merges their results. Hooks run in order, and each
// hook gets the input with the changes of the earlier hooks. Consecutive commands and HTTP hooks
// run in parallel unless [Event.Rewrites] is true. If a hook changes the input of a call, the hooks
// before it run once more with the new input and [Input].Settled, because an allow applies only to
// the input that its hook saw. Later hooks run even after an earlier hook has blocked. Fire never
// fails: failures of hooks are reported in the outcome. Once ctx has ended, no more hooks are
// started, and each remaining hook is treated as failed; see [Definition].OnFailure. A nil registry
// fires nothing.
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
	f.remaining = sharedLimit(picked)
	f.runAll(ctx, picked)
	f.rerunEarlier(ctx, picked)
	return f.out
}

// AsyncOutcomes returns the results that asynchronous hooks have produced for a session
// ([Input].SessionID) since the last call. There is one outcome for each result, with texts for the
// model and the user, and the record of the run. The last 1000 results of all sessions together are
// kept.
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

// CancelAsync ends the running asynchronous hooks and waits until they have ended. Hooks that are
// started later are not affected.
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

// Close ends running hooks and waits until they have ended. Functions that ignore their context are
// abandoned. After Close, [Registry.Fire] runs no hook and treats every hook as failed.
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

// enter registers a firing; it returns false if the registry is closed.
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

// withIndex adds the index of the definition to an error.
func withIndex(err error, i, of int) error {
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
