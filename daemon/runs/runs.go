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
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/feed"
	"github.com/holdfast-dev/holdfast/daemon/strategy"
	"github.com/holdfast-dev/holdfast/daemon/wire"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Actor is who asks for something.
type Actor struct {
	Name string // "ann"
	Via  string // websocket, http, console, cli
}

// Need says what an agent is wanted for.
type Need struct {
	Run      string // id of the run
	Session  string // id of the agent's session
	Agent    strategy.Agent
	Cwd      string
	Model    string   // overrides the agent's
	Mode     string   // permission mode; "" is what settings say
	Settings string   // more settings, a file; ""
	Environ  []string // instead of the daemon's own, when not nil
}

// Made is an agent's parts. Close is called after the agent was closed.
type Made struct {
	Model   model.Model
	Options agent.Options      // without Session, Ask and Observers of the run
	Attach  func(*agent.Agent) // called once the agent is there; may be nil
	Close   func()
}

// Options are what [New] needs.
type Options struct {
	Sessions *session.Sessions
	Hub      *feed.Hub
	// Make makes the parts of an agent: settings, tools, sandbox, hooks, model.
	Make func(ctx context.Context, n Need) (*Made, error)
	// Resume goes on with interrupted runs by itself.
	Resume bool
	// Limit bounds the runs that run at once; 0 is 256.
	Limit int
	Clock func() time.Time
	Log   *slog.Logger // default: nothing is logged
}

// Runs has all runs of a store. It is safe for concurrent use.
type Runs struct{}

// New returns the runs of a store.
func New(o *Options) (*Runs, error) { panic("not yet") }

// Recover marks the runs that a daemon left behind as interrupted, and goes on with
// them when Options.Resume says so. It is called once, before clients are served.
func (r *Runs) Recover(ctx context.Context) (interrupted []string, err error) { panic("not yet") }

// Prepared is a run that can be started or continued.
type Prepared struct {
	Run      string
	Again    bool // there was a run of this id: continue it
	Strategy wire.StrategyInfo
	Session  *session.Meta // of a run that is there
}

// Prepare makes a run ready. Errors: *Error with PREPARE_FAILED.
func (r *Runs) Prepare(ctx context.Context, p PrepareOptions) (*Prepared, error) { panic("not yet") }

// PrepareOptions describe a run. One of Run, Strategy is needed.
type PrepareOptions struct {
	Run      string             // id of a run on record, or for a new one; "" makes one
	Strategy *strategy.Strategy // nil: that of the run on record
	Model    string
	Cwd      string
	Settings string
	Mode     string
	Title    string
	Environ  []string
	By       Actor
}

// Start starts a prepared run; it goes on in the background. START_FAILED.
func (r *Runs) Start(ctx context.Context, id, input, requestID string, by Actor) error {
	panic("not yet")
}

// Continue goes on with a run that has ended. CONTINUE_FAILED.
func (r *Runs) Continue(ctx context.Context, id, input, requestID string, by Actor) error {
	panic("not yet")
}

// Stop cancels a run; it returns when that is on record. RUN_NOT_FOUND when nothing
// of this id runs or is prepared.
func (r *Runs) Stop(ctx context.Context, id, requestID string, by Actor) error { panic("not yet") }

// Input answers a request_input. NO_PENDING_INPUT.
func (r *Runs) Input(ctx context.Context, id, agentName, inputID, text string, by Actor) error {
	panic("not yet")
}

// Steer gives a running run a text to heed. RUN_NOT_STEERABLE, RUN_NOT_FOUND.
func (r *Runs) Steer(ctx context.Context, id, text, requestID string, by Actor) error {
	panic("not yet")
}

// Decide answers a question of a run, running or not, and returns the answer that
// counts. The run may be "": then the question is looked for. Errors are those of
// [approval.Resolve]; a digest that is not "" must be the question's.
func (r *Runs) Decide(ctx context.Context, id string, ans approval.Answer, digest string) (approval.Answer, error) {
	panic("not yet")
}

// Change changes the policy of a run that runs: of all its agents, and of those that
// start later. RUN_NOT_FOUND; [policy.ErrStale], [policy.ErrInvalid].
func (r *Runs) Change(ctx context.Context, id string, c policy.Change, by Actor) (version int, err error) {
	panic("not yet")
}

// Chains are the chains of a run's guards as they are: of its agents that run.
func (r *Runs) Chains(ctx context.Context, id string) ([]policy.Chain, []policy.Grant, error) {
	panic("not yet")
}

// List lists runs on record, and those that are only prepared when pending asks for it.
func (r *Runs) List(ctx context.Context, q ListOptions) (list []wire.RunInfo, next string, err error) {
	panic("not yet")
}

// ListOptions filter [Runs.List].
type ListOptions struct {
	Cwd    string
	Status wire.Status
	Limit  int
	Cursor string
}

// Get describes a run, running or on record. RUN_NOT_FOUND.
func (r *Runs) Get(ctx context.Context, id string) (*wire.RunInfo, error) { panic("not yet") }

// Active counts the runs that run or wait.
func (r *Runs) Active() int { panic("not yet") }

// Busy reports whether a session is one of a run that runs here.
func (r *Runs) Busy(id string) bool { panic("not yet") }

// Drain refuses new runs, and returns when those that run have ended or ctx has; what
// runs then is interrupted: its questions stay open and it can be continued.
func (r *Runs) Drain(ctx context.Context) error { panic("not yet") }

// Close is Drain that does not wait. Closing twice does nothing.
func (r *Runs) Close() error { panic("not yet") }

// Error is what went wrong, with its code on the wire.
type Error struct {
	Code    wire.Code
	Message string
	Hint    string
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
