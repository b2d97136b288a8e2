package workspace

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// builtinAgent is our own agent in a container, in the shape of an [agent.Agent].
//
//	Run ─► process: `holdfast inside` ─► agent.Agent ─► logpipe ─► session's log, models, people
//	   ◄──────────────── events, in the order of the log ────────────┘
//
// Each turn is a process of its own. Between turns the host holds the session's lease,
// and the process works under it: when the host ends, the lease ends with it.
type builtinAgent struct {
	o     builtinOptions
	turns sync.Mutex // held by Run, Start and Close

	emitted bool    // SessionOpened; under turns
	usage   int64   // records up to here were looked through for a change of mode; likewise
	spent   float64 // what the run has cost, in US dollars; likewise

	mu      sync.Mutex // guards what follows
	closed  bool
	log     *session.Log // for its lease; its head is that of its opening
	opened  event.SessionOpened
	id      string
	server  *hostpipe.Server        // of the turn under way, or nil
	stop    context.CancelCauseFunc // ends it
	mode    policy.Mode
	changes []policy.Change // made since the last turn: not told yet
}

// builtinOptions say what an [builtinAgent] is made of.
type builtinOptions struct {
	Sessions *session.Sessions
	// Session says which session to go on with and describes a new one, as the host sees it.
	Session session.RestoreOptions
	// Opening are records that go on record when the session is opened: what the run is.
	Opening []session.Draft
	// Models answer for the agent: the primary one, and a fallback.
	Models []model.Model
	// Ask is as in [agent.Options]; its answers are recorded here.
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// Observers see every event, too.
	Observers []agent.LoopObserver
	// Spec is what stays the same from turn to turn: the folder, prompts, settings, limits.
	Spec hostpipe.Spec
	// Ready has the container there before the session is opened for the first time, so
	// that a container which cannot be had leaves no empty session behind; nil does
	// nothing. What it returns is called when the turn is over.
	Ready func(ctx context.Context) (release func(), err error)
	// Start starts a process in the container. The own closes it.
	Start func(ctx context.Context, s supervisor.Spec) (agentProcess, error)
	// Program is what is started; default [Program].
	Program string
	// Grace is how long an interrupted turn may take to end; default 10 s. Then the
	// process is killed.
	Grace time.Duration
}

// newBuiltin returns our own agent for a workspace. It does no I/O.
func newBuiltin(o builtinOptions) (*builtinAgent, error) {
	switch {
	case o.Sessions == nil:
		return nil, errors.New("workspace: an agent needs a store of sessions")
	case len(o.Models) == 0 || o.Models[0] == nil:
		return nil, errors.New("workspace: an agent needs a model")
	case o.Start == nil:
		return nil, errors.New("workspace: an agent needs a container")
	}
	if o.Program == "" {
		o.Program = Program
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	return &builtinAgent{o: o, id: o.Session.SessionID, mode: policy.Mode(o.Spec.Run.Permissions.Mode)}, nil
}

// Start is [agent.Agent.Start]: it opens the session, and mends it where that is needed.
func (a *builtinAgent) Start(ctx context.Context) (event.SessionOpened, error) {
	if !a.turns.TryLock() {
		return event.SessionOpened{}, agent.ErrRunning
	}
	defer a.turns.Unlock()
	return a.start(ctx)
}

// start opens the session once.
func (a *builtinAgent) start(ctx context.Context) (event.SessionOpened, error) {
	a.mu.Lock()
	log, opened, closed := a.log, a.opened, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return opened, agent.ErrClosed
	case log != nil:
		return opened, nil
	}
	o := a.o.Session
	if o.Opened.Model == "" {
		o.Opened.Model = a.o.Models[0].Info().Model
	}
	if opened.ID != "" { // it was opened before, and lost
		o = session.RestoreOptions{SessionID: opened.ID, MustExist: true}
	}
	r, err := a.o.Sessions.Restore(ctx, o)
	if err != nil {
		return opened, err
	}
	if opened.ID == "" {
		opened = event.SessionOpened{
			ID: r.Log.ID(), Created: r.Created, Forked: r.Forked, Items: r.Transcript.Len(), Notices: r.Notices, Recovery: r.Log.Recovery(),
		}
	}
	if len(a.o.Opening) > 0 {
		_, err = r.Log.Append(ctx, a.o.Opening...)
	}
	if err == nil {
		a.o.Opening = nil
		err = a.recordMode(ctx, r)
	}
	if err != nil {
		return opened, errors.Join(err, r.Log.Close())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent = max(a.spent, r.State.CostUSD)
	if a.o.Spec.Run.Limits.MaxBudgetUSD == 0 {
		a.o.Spec.Run.Limits.MaxBudgetUSD = r.State.Budget.USD
	}
	for _, m := range a.o.Models {
		if m != nil && a.o.Spec.Run.Limits.MaxBudgetUSD > 0 && !m.Info().Priced() {
			return opened, errors.Join(m.Info().Unpriced(), r.Log.Close())
		}
	}
	a.log, a.opened, a.id = r.Log, opened, opened.ID
	if a.usage == 0 {
		a.usage = r.Log.Head()
	}
	if r.State.Mode != "" && a.o.Spec.Run.Permissions.Mode == "" {
		a.mode = policy.Mode(r.State.Mode)
	}
	return opened, nil
}

// recordMode records the mode that was asked for, unless the process inside may set it: that
// process records such a mode itself.
func (a *builtinAgent) recordMode(ctx context.Context, r *session.Restored) error {
	c, record := sessionpolicy.Start(policy.Mode(a.o.Spec.Run.Permissions.Mode), policy.Mode(r.State.Mode), a.o.Session.Opened.User)
	if !record || hostpipe.AllowedFromContainer(c.Mode) {
		return nil
	}
	_, err := sessionpolicy.Change(ctx, a.o.Sessions, r.Log.ID(), func(*policy.Guards) (policy.Change, error) { return c, nil })
	return err
}

// modeNow is the mode for the next turn: the one that was set since the session was opened
// here, whoever did it, or the one that was asked for. Each turn's process would take the
// second for one that is asked for anew.
func (a *builtinAgent) modeNow(ctx context.Context) (string, error) {
	for r, err := range a.o.Sessions.Records(ctx, a.SessionID(), session.Range{After: a.usage}) {
		if err != nil {
			return "", err
		}
		a.usage = r.Seq
		if r.Kind != record.KindPolicyChanged || r.Payload == nil {
			continue
		}
		var c policy.Change
		if err := c.Parse(r.Payload); err != nil {
			return "", err
		}
		if c.Mode != "" {
			a.o.Spec.Run.Permissions.Mode = string(c.Mode)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.o.Spec.Run.Permissions.Mode != "" {
		a.mode = policy.Mode(a.o.Spec.Run.Permissions.Mode)
	}
	return a.o.Spec.Run.Permissions.Mode, nil
}

// Run is [agent.Agent.Run].
func (a *builtinAgent) Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if !a.turns.TryLock() {
			yield(nil, agent.ErrRunning)
			return
		}
		defer a.turns.Unlock()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		listening := true
		emit := func(e event.Event) {
			for _, o := range a.o.Observers {
				o.Observe(a.SessionID(), e)
			}
			if listening && !yield(e, nil) {
				listening = false
				stop(errLeft)
			}
		}
		res, err := a.turn(ctx, stop, emit, input)
		switch {
		case !listening:
		case err != nil:
			yield(nil, err)
		default:
			yield(*res, nil)
		}
	}
}

var errLeft = errors.New("nobody listens any more")

// Submit is [agent.Agent.Submit], for a turn that is under way.
func (a *builtinAgent) Submit(ctx context.Context, input ...transcript.Part) error {
	if len(input) == 0 {
		return agent.ErrNoInput
	}
	parts, err := hostpipe.EncodeParts(input)
	if err != nil {
		return err
	}
	a.mu.Lock()
	server, closed := a.server, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return agent.ErrClosed
	case server == nil:
		return &session.Error{Op: "submit", Session: a.SessionID(), Err: session.ErrUnsupported, Detail: "no turn is under way", Hint: "give the input to the next run"}
	}
	return server.Submit(ctx, parts)
}

// Interrupt is [agent.Agent.Interrupt].
func (a *builtinAgent) Interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		a.stop(errInterrupted)
	}
}

var errInterrupted = errors.New("interrupted")

// Change is [agent.Agent.Change]: it is on record, and in force from the next decision on.
func (a *builtinAgent) Change(ctx context.Context, c policy.Change) (policy.Change, error) {
	if err := a.open(ctx); err != nil {
		return c, err
	}
	done, err := sessionpolicy.Change(context.WithoutCancel(ctx), a.o.Sessions, a.SessionID(), func(*policy.Guards) (policy.Change, error) { return c, nil })
	if err != nil {
		return done, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if done.Mode != "" {
		a.mode = done.Mode
	}
	if a.server == nil { // otherwise the process inside tells of it
		a.changes = append(a.changes, done)
	}
	return done, nil
}

// open opens the session if nothing has yet.
func (a *builtinAgent) open(ctx context.Context) error {
	a.mu.Lock()
	log, closed := a.log, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return agent.ErrClosed
	case log != nil:
		return nil
	}
	_, err := a.Start(ctx)
	return err
}

// Mode is the permission mode, as far as it is known here: what the settings inside say
// shows in the decisions.
func (a *builtinAgent) Mode() policy.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mode == "" {
		return policy.ModeDefault
	}
	return a.mode
}

// Guards are what the log says of the session's policy: its grants and patches.
func (a *builtinAgent) Guards() *policy.Guards {
	ctx := context.Background()
	if m, err := a.o.Sessions.Get(ctx, a.SessionID()); err == nil {
		if g, err := sessionpolicy.Guards(ctx, a.o.Sessions, m); err == nil {
			return g
		}
	}
	g, _ := policy.New(&policy.Config{}) // an empty one cannot fail
	return g
}

// SessionID is [agent.Agent.SessionID].
func (a *builtinAgent) SessionID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// Snapshot is [agent.Agent.Snapshot], read from the log. What cannot be read is not in it.
func (a *builtinAgent) Snapshot() agent.Snapshot {
	ctx := context.Background()
	s := agent.Snapshot{SessionID: a.SessionID()}
	if s.SessionID == "" {
		return s
	}
	m, err := a.o.Sessions.Get(ctx, s.SessionID)
	if err != nil {
		return s
	}
	state, err := a.o.Sessions.StateAt(ctx, s.SessionID, m.Head)
	if err != nil {
		return s
	}
	s.Seq, s.Items, s.Pending = state.Head, state.Items, state.Queue
	s.Approvals, _ = approval.Pending(ctx, a.o.Sessions, s.SessionID)
	return s
}

// Suspend is [agent.Agent.Suspend].
func (a *builtinAgent) Suspend() error { return a.Close() }

// Close is [agent.Agent.Close].
func (a *builtinAgent) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return agent.ErrClosed
	}
	a.closed = true
	if a.stop != nil {
		a.stop(errInterrupted)
	}
	a.mu.Unlock()
	a.turns.Lock()
	defer a.turns.Unlock()
	if a.log == nil {
		return a.leaveMarker()
	}
	return a.log.Close()
}

// leaveMarker leaves a session that was given and never used behind as an empty one.
func (a *builtinAgent) leaveMarker() error {
	o := a.o.Session.Opened
	if o.SessionID = a.o.Session.SessionID; o.SessionID == "" || a.opened.ID != "" {
		return nil
	}
	log, err := a.o.Sessions.Create(context.Background(), o)
	if errors.Is(err, session.ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return log.Close()
}
