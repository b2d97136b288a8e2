// Package runs runs strategies for many clients.
//
//	prepare ─► start ─► flow ─► step ─► agent of a session ─┐
//	             │                        ▲   questions     │ records ─► log ─► feed
//	             └── run.event records    └── answers ◄─────┘
//	                 (compare and set)
//
// A run is what happens to one session: its id is the session's. What a run is and
// where it stands follows from its records alone; a daemon that was killed finds its
// runs again, lists them as interrupted, and goes on with them when it is asked.
//
// A run of a single agent runs in that agent's session. With several agents each has
// a session of its own ("RUN.AGENT"), whose records the run's log relays.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Actor is who asks for something.
type Actor struct {
	Name string // "ann"
	Via  string // websocket, http, console, cli
}

// AgentRequest says what an agent is wanted for.
type AgentRequest struct {
	Run     string // id of the run
	Session string // id of the agent's session
	Agent   strategy.Agent
	Spec    runspec.Spec // of the run, without its prompt and strategy; Cwd is set
	Environ []string     // the caller's, instead of the daemon's own, when not nil
	Project string       // of the session, when it exists: see workspace.OfProject
	Actor   Actor        // who has the run run
}

// AgentParts is an agent's parts. Close is called after the agent was closed.
type AgentParts struct {
	Model   model.Model
	Options agent.Options      // without Session, Ask and Observers of the run
	Attach  func(*agent.Agent) // called once the agent is there; may be nil
	// New makes the agent, of the options as the run has completed them; nil is
	// [agent.New] with Model, and Attach.
	New func(ctx context.Context, o agent.Options) (Agent, error)
	// BeforeClose is called before the agent is closed, with whether the run has completed; may be nil.
	BeforeClose func(completed bool)
	Close       func()
}

// Agent is an agent as runs use it: [agent.Agent], by shape and with its contracts. One
// that has Fire as well is told of lifecycle events.
type Agent interface {
	Start(ctx context.Context) (event.SessionOpened, error)
	Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error]
	Submit(ctx context.Context, input ...transcript.Part) error
	Change(ctx context.Context, c policy.Change) (policy.Change, error)
	Mode() policy.Mode
	Guards() *policy.Guards
	Snapshot() agent.Snapshot
	Close() error
	Suspend() error
}

// Options are what [New] needs.
type Options struct {
	Sessions *session.Sessions
	Hub      *feed.Hub
	// Make makes the parts of an agent: settings, tools, sandbox, hooks, model.
	Make func(ctx context.Context, n AgentRequest) (*AgentParts, error)
	// Mask makes what masks secrets in what a run's record holds, as the settings of a
	// folder and of the run want it; nil: nothing is masked.
	Mask func(ctx context.Context, cwd string, settings []string) (*secret.Masker, error)
	// Tools names what tools agents can have, those of MCP servers aside: a change of policy
	// for another one is refused. Nil: that is not known.
	Tools []string
	// Resume goes on with interrupted runs by itself.
	Resume bool
	// Limit bounds the runs that run at once; 0 is 256.
	Limit int
	Clock func() time.Time
	Log   *slog.Logger // default: nothing is logged
}

// Runs has all runs of a store. It is safe for concurrent use.
type Runs struct {
	o    Options
	root context.Context // of all runs; ends with Close
	stop context.CancelFunc

	mu       sync.Mutex
	live     map[string]*run   // prepared, running and waiting
	reasons  map[string]string // why runs have ended whose end could not be put on record
	draining bool
	leave    chan struct{} // closed when questions are left open
	wg       sync.WaitGroup

	turns namedLocks
}

// Limits of what is kept in memory.
const (
	defaultLimit = 256
	maxPrepared  = 1000
)

// New returns the runs of a store.
func New(o *Options) (*Runs, error) {
	if o == nil || o.Sessions == nil || o.Hub == nil || o.Make == nil {
		return nil, errors.New("runs: Options.Sessions, Hub and Make must be set")
	}
	r := &Runs{o: *o, live: map[string]*run{}, reasons: map[string]string{}, leave: make(chan struct{})}
	if r.o.Limit <= 0 {
		r.o.Limit = defaultLimit
	}
	if r.o.Clock == nil {
		r.o.Clock = time.Now
	}
	if r.o.Log == nil {
		r.o.Log = slog.New(slog.DiscardHandler)
	}
	r.root, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// lookup returns a run that is prepared or runs, or nil.
func (r *Runs) lookup(id string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id]
}

// forget takes a run out of memory.
func (r *Runs) forget(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[x.id] == x {
		delete(r.live, x.id)
	}
}

// storeReason keeps why a run has ended whose end could not be put on record, for whoever looks and
// for [Runs.adopt].
func (r *Runs) storeReason(id, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons[id] = why
}

func (r *Runs) dropReason(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reasons, id)
}

// lostReason is why a run has ended that is on record as running.
func (r *Runs) lostReason(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.reasons[id], lostMessage)
}

// Active counts the runs that run or wait.
func (r *Runs) Active() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, x := range r.live {
		if x.begun() {
			n++
		}
	}
	return n
}

// recoverPanic makes an error of a panic: what belongs to one run ends that run alone. It is
// deferred.
func (r *Runs) recoverPanic(run string, err *error) {
	if p := recover(); p != nil {
		r.o.Log.Error("panic", slog.String("run", run), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		*err = errors.Join(*err, fmt.Errorf("internal error: panic: %v", p))
	}
}

// Busy reports whether a session is one of a run that runs here.
func (r *Runs) Busy(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.live {
		if x.begun() && x.works(id) {
			return true
		}
	}
	return false
}
