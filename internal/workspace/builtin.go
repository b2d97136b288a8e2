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

// builtinAgent is the built-in agent in a container, with the methods of an [agent.Agent].
//
//	Run ─► process: `holdfast inside` ─► agent.Agent ─► hostpipe ─► session's log, models, approvers
//	   ◄──────────────── events, in the order of the log ────────────┘
//
// Each turn is a separate process. The host holds the session's lease, also between turns, and the
// process in the container writes under this lease. When the host exits, the lease ends.
type builtinAgent struct {
	o     builtinOptions
	turns sync.Mutex // Run, Start and Close hold this lock

	emitted bool    // true if SessionOpened was emitted; guarded by turns
	modeSeq int64   // seq of the last record that was searched for a mode change; guarded by turns
	spent   float64 // cost of the run so far, in US dollars; guarded by turns

	mu      sync.Mutex // guards the fields below
	closed  bool
	log     *session.Log // only its lease is used; its head is not updated after the session was opened
	opened  event.SessionOpened
	id      string
	server  *hostpipe.Server        // the server for the current turn, or nil
	stop    context.CancelCauseFunc // ends the current turn
	mode    policy.Mode
	changes []policy.Change // the changes since the last turn that were not emitted yet
}

// builtinOptions configures a [builtinAgent].
type builtinOptions struct {
	Sessions *session.Sessions
	// Session names the session to resume and describes a new one, as the host sees it.
	Session session.RestoreOptions
	// Opening has the records to append when the session is opened, which contain the run spec.
	Opening []session.Draft
	// Models has the agent's models: the primary one, and a fallback.
	Models []model.Model
	// Ask is the same as in [agent.Options]. The host records its answers.
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// Observers also receive every event.
	Observers []agent.LoopObserver
	// Spec has the values that do not change between turns: folder, prompts, settings, limits.
	Spec hostpipe.Spec
	// Ready prepares the container before the session is opened for the first time, so that a
	// container that cannot start leaves no empty session. A nil Ready does nothing. The returned
	// function is called after the turn.
	Ready func(ctx context.Context) (release func(), err error)
	// Start starts a process in the container. The builtinAgent closes it.
	Start func(ctx context.Context, s supervisor.Spec) (agentProcess, error)
	// Program is the program to start; default [Program].
	Program string
	// Grace is the time that an interrupted turn has to end; default 10 s. After this time the
	// process is killed.
	Grace time.Duration
}

// newBuiltin returns the built-in agent for a workspace. It does no I/O.
func newBuiltin(o builtinOptions) (*builtinAgent, error) {
	switch {
	case o.Sessions == nil:
		return nil, errors.New("workspace: an agent needs a session store")
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

// Start is [agent.Agent.Start]: it opens the session and repairs it if necessary.
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
	if opened.ID != "" { // the session was opened before, and closed again
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
	if a.modeSeq == 0 {
		a.modeSeq = r.Log.Head()
	}
	if r.State.Mode != "" && a.o.Spec.Run.Permissions.Mode == "" {
		a.mode = policy.Mode(r.State.Mode)
	}
	return opened, nil
}

// recordMode records the requested mode on the host. If the process in the container may set the
// mode, the process records it instead.
func (a *builtinAgent) recordMode(ctx context.Context, r *session.Restored) error {
	c, record := sessionpolicy.Start(policy.Mode(a.o.Spec.Run.Permissions.Mode), policy.Mode(r.State.Mode), a.o.Session.Opened.User)
	if !record || hostpipe.AllowedFromContainer(c.Mode) {
		return nil
	}
	_, err := sessionpolicy.Change(ctx, a.o.Sessions, r.Log.ID(), func(*policy.Guards) (policy.Change, error) { return c, nil })
	return err
}

// currentMode returns the mode for the next turn. This is the mode that any caller has set since the
// session was opened here, or else the requested mode. Without this, the process of each turn would
// take the requested mode for a new request.
func (a *builtinAgent) currentMode(ctx context.Context) (string, error) {
	for r, err := range a.o.Sessions.Records(ctx, a.SessionID(), session.Range{After: a.modeSeq}) {
		if err != nil {
			return "", err
		}
		a.modeSeq = r.Seq
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
				stop(errReaderStopped)
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

var errReaderStopped = errors.New("the caller stopped reading events")

// Submit is [agent.Agent.Submit], for the current turn.
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
		return &session.Error{Op: "submit", Session: a.SessionID(), Err: session.ErrUnsupported, Detail: "no turn is running", Hint: "send the input with the next run"}
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

// Change is [agent.Agent.Change]. The change is recorded and applies to all later decisions.
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
	if a.server == nil { // during a turn the process in the container emits the change
		a.changes = append(a.changes, done)
	}
	return done, nil
}

// open opens the session if it is not open.
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

// Mode is the permission mode as far as the host knows it. A mode that the settings in the
// container set can be seen only in the decisions.
func (a *builtinAgent) Mode() policy.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mode == "" {
		return policy.ModeDefault
	}
	return a.mode
}

// Guards returns the policy state in the session's log: its grants and patches.
func (a *builtinAgent) Guards() *policy.Guards {
	ctx := context.Background()
	if m, err := a.o.Sessions.Get(ctx, a.SessionID()); err == nil {
		if g, err := sessionpolicy.Guards(ctx, a.o.Sessions, m); err == nil {
			return g
		}
	}
	g, _ := policy.New(&policy.Config{}) // an empty configuration cannot cause an error
	return g
}

// SessionID is [agent.Agent.SessionID].
func (a *builtinAgent) SessionID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// Snapshot is [agent.Agent.Snapshot]. It is read from the log. It omits everything that cannot be
// read.
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
		return a.createEmptySession()
	}
	return a.log.Close()
}

// createEmptySession creates an empty session if the caller has chosen the session's id and no turn has
// opened the session.
func (a *builtinAgent) createEmptySession() error {
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
