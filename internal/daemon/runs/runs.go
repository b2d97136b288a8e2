// Package runs runs strategies for many clients.
//
//	prepare ─► start ─► flow ─► step ─► agent of a session ─┐
//	             │                        ▲   approvals     │ records ─► log ─► feed
//	             └── run.event records    └── answers ◄─────┘
//	                 (compare and set)
//
// A run has the same id as its session. The state of a run follows from its records alone: a daemon
// that was killed finds its runs again, lists them as interrupted, and resumes them on request.
//
// A run of a single agent works in the run's session. With several agents, each agent has a
// separate session ("RUN.AGENT"), and the run's log refers to the records of these sessions.
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

// Actor is the client or user who made a request.
type Actor struct {
	Name string // "ann"
	Via  string // websocket, http, console, cli
}

// AgentRequest describes the agent to create.
type AgentRequest struct {
	Run     string // id of the run
	Session string // id of the agent's session
	Agent   strategy.Agent
	Spec    runspec.Spec // spec of the run, without its prompt and strategy; Cwd is set
	Environ []string     // instead of the daemon's environment, if not nil
	Project string       // project of the session, if the session exists; see workspace.OfProject
	Actor   Actor        // who started the run
}

// AgentParts are the parts of an agent. Close is called after the agent was closed.
type AgentParts struct {
	Model   model.Model
	Options agent.Options      // all options except Session, Ask and Observers; the run sets those
	Attach  func(*agent.Agent) // called after the agent was created; may be nil
	// New creates the agent from the options as the run completed them; nil means [agent.New] with
	// Model, and Attach.
	New func(ctx context.Context, o agent.Options) (Agent, error)
	// BeforeClose is called before the agent is closed; completed reports whether the run has
	// completed. May be nil.
	BeforeClose func(completed bool)
	Close       func()
}

// Agent contains the methods of [agent.Agent] that runs use. They have the same contracts. An Agent
// that also has a Fire method receives lifecycle events.
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

// Options are the options of [New].
type Options struct {
	Sessions *session.Sessions
	Hub      *feed.Hub
	// Make creates the parts of an agent: settings, tools, sandbox, hooks, model.
	Make func(ctx context.Context, n AgentRequest) (*AgentParts, error)
	// Mask returns the masker for the records of a run, according to the settings of its folder and
	// of the run; nil masks nothing.
	Mask func(ctx context.Context, cwd string, settings []string) (*secret.Masker, error)
	// Tools are the names of all tools that agents can have, without the tools of MCP servers. A
	// policy change for any other tool is rejected. Nil means that the tools are unknown.
	Tools []string
	// Resume makes [Runs.Recover] resume interrupted runs.
	Resume bool
	// Limit is the maximum number of simultaneous runs; 0 means 256.
	Limit int
	Clock func() time.Time
	Log   *slog.Logger // nil logs nothing
}

// Runs manages all runs of a store. It is safe for concurrent use.
type Runs struct {
	o    Options
	root context.Context // context of all runs; Close cancels it
	stop context.CancelFunc

	mu       sync.Mutex
	live     map[string]*run   // prepared, running and waiting
	reasons  map[string]string // key: a run whose end could not be recorded; value: why it ended
	draining bool
	leave    chan struct{} // closed when runs must end and leave approval requests open
	wg       sync.WaitGroup

	locks namedLocks
}

// Limits on memory.
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

// lookup returns a prepared or active run, or nil.
func (r *Runs) lookup(id string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id]
}

// forget removes a run from memory.
func (r *Runs) forget(x *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[x.id] == x {
		delete(r.live, x.id)
		r.o.Hub.Ended(x.id)
	}
}

// storeReason stores why a run ended if its end could not be recorded. Clients and [Runs.markIfLost] get
// the reason from [Runs.lostReason].
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

// lostReason returns why a run ended, although its recorded status is still running.
func (r *Runs) lostReason(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.reasons[id], lostMessage)
}

// Active returns the number of runs that are working or waiting.
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

// recoverPanic turns a panic into an error, so that a panic in one run ends only that run. Call it
// with defer.
func (r *Runs) recoverPanic(run string, err *error) {
	if p := recover(); p != nil {
		r.o.Log.Error("panic", slog.String("run", run), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		*err = errors.Join(*err, fmt.Errorf("internal error: panic: %v", p))
	}
}

// Busy reports whether a session belongs to a run that is active in this process.
func (r *Runs) Busy(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.live {
		if x.begun() && x.hasSession(id) {
			return true
		}
	}
	return false
}
