package hook

import (
	"context"
	"slices"
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
// (see [OnFailure]); a block by exit code 2 is an Answer. It returns soon after
// ctx has ended, with nothing left running, and neither changes d and in nor keeps
// them. It may be called from several goroutines at once.
type Runner interface {
	Run(ctx context.Context, d *Definition, in *Input) (Answer, error)
}

// Answer is what came of running a hook.
type Answer struct {
	Output *Output // nil: nothing to say
	Exit   *int    // of a command
	// Detached: the command printed {"async": true} and goes on by itself; Later gives
	// its real answer once.
	Later <-chan Late
	// Notice is for the person: what was cut off, what the sandbox refused.
	Notice string
}

// Late is the answer of a hook that nobody waited for.
type Late struct {
	Answer
	Err error
}

// Registry holds hooks and fires events. It is safe for concurrent use.
type Registry struct{ registry }

// New returns an empty registry.
func New(o *Options) *Registry { return newRegistry(o) }

// Register adds hooks after those that are there. All or none: errors are *[Error].
// An event may be spelled in either dialect, which is then the hook's.
func (r *Registry) Register(list ...Definition) error { return r.register(list) }

// On adds a function. matcher is that of [Definition]; "" is all.
func (r *Registry) On(e Event, matcher string, f Func) error {
	return r.Register(Definition{Event: e, Matcher: matcher, Func: f})
}

// Has reports whether anything is registered for e.
func (r *Registry) Has(e Event) bool { return r != nil && r.has(e) }

// Outside reports whether a command or an HTTP hook is registered for e: one that
// hears of things outside of this process.
func (r *Registry) Outside(e Event) bool {
	return r != nil && slices.ContainsFunc(r.of(e), func(e *entry) bool { return e.Type() != TypeFunction })
}

// Hooks lists what is registered, in order, with defaults filled in.
func (r *Registry) Hooks() []Definition { return r.hooks() }

// Fire tells the hooks that match of a moment and merges what they say. They run
// in order, each with the input as those before have left it; where nothing can be
// rewritten, commands and HTTP hooks that follow one another run side by side. A
// block does not keep later hooks from being told. It never fails: what goes wrong
// with a hook is in the outcome. Once ctx has ended no hook is started, which counts
// as a failure of each, see [OnFailure]. A nil registry fires nothing.
func (r *Registry) Fire(ctx context.Context, in Input) Outcome {
	if r == nil {
		return Outcome{Event: in.Event}
	}
	return r.fire(ctx, in)
}

// Late returns what hooks that nobody waited for have said since, one outcome each:
// texts for the model and the person, and the record of the run. The last 1000 are
// kept.
func (r *Registry) Late() []Outcome {
	if r == nil {
		return nil
	}
	return r.late()
}

// Close ends hooks that still run, and waits for that; functions that do not heed
// their context are left behind. From then on no hook is run: each counts as failed.
func (r *Registry) Close() error { return r.close() }
