package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Errors of this package. Test for them with [errors.Is].
var (
	ErrClosed                = errors.New("agent is already closed")
	ErrRunning               = errors.New("the agent is already running a turn")
	ErrApprovalPending error = &codedError{"approval", "an approval request is waiting for an answer"}
	ErrNoInput         error = &codedError{"usage", "no input and no pending approval"}
)

// Agent is the loop of one session. Only one goroutine at a time may call Run, Prompt or
// Driver.Next; a second call returns ErrRunning. Submit, Interrupt, SetMode, Change, SetCanUseTool,
// SetTools, Snapshot and SessionID are safe for concurrent use.
//
// The policy changes of the session, such as grants and patches, apply until they are revoked, also
// when another agent resumes the session. Sub-agents share them; see [Run].
type Agent struct {
	opt    Options
	model  model.Model
	guards *policy.Guards
	shared *Run    // the policy, shared by all agents of the run
	budget *budget // shared by all agents of the run
	total  usageTotal
	once   itemIDs // for QueueNotificationOnce

	at      atomic.Pointer[string] // the current directory; nil until it is changed
	running ctxMutex               // Run and Next hold the lock while they work
	loop    *loop                  // nil until the agent has started; only the goroutine that holds running uses it

	mu            sync.Mutex             // guards the fields below
	models        map[string]model.Model // models requested by slash commands, by provider and name
	closed        bool
	log           *session.Log
	id            string
	tools         *tool.Registry
	toolsNew      bool          // the tools have changed since the last request
	previous      *event.Result // the result so far of the Work call to which the next turn belongs
	queue         []transcript.Encoded
	unconfirmed   *unconfirmedInput
	more          chan struct{}         // closed and replaced when the queue grows or suspendedErr is set
	pendingEvents []event.Event         // events that other goroutines have queued
	userStopped   bool                  // the user stopped this sub-agent
	newPolicy     []event.PolicyChanged // policy changes that other goroutines have queued; their events are emitted before the next decision
	hookTexts     []string              // texts of hooks for the model that other goroutines have queued
	stops         *event.Error          // another goroutine sets it when a hook ends the turn
	wake          chan struct{}         // receives a value when there are pending events while calls run
	suspendedErr  error                 // set if an approval request of a sub-agent was suspended; the run ends with this error
	toResume      chan struct{}         // set together with suspendedErr; closed when the agent runs again
	suspending    bool                  // the agent is being closed and will be resumed later
	asking        bool
	interrupt     context.CancelCauseFunc
	snapshot      func() Snapshot
	failed        error // set when a background task's end could not be recorded; stops the agent
}

// New returns an agent for a model. It does no I/O: the session is opened by
// the first Run, Prompt, Next or [Agent.Start]. The caller closes the agent.
func New(m model.Model, o *Options) (*Agent, error) {
	if m == nil {
		return nil, errors.New("agent: the model is nil")
	}
	a := &Agent{model: m, running: make(ctxMutex, 1), wake: make(chan struct{}, 1), more: make(chan struct{})}
	if o != nil {
		a.opt = *o
	}
	if err := a.opt.fill(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	if err := a.makeBudget(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	if err := a.makeGuards(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	if err := errors.Join(a.opt.Background.bind(a), a.opt.Subagents.bind(a)); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a.tools = a.opt.Tools
	a.id = a.opt.Session.SessionID
	return a, nil
}

func (o *Options) fill() error {
	if o.Sessions != nil && len(o.Transcript) > 0 {
		return errors.New("Transcript and Sessions are both set; hint: set one of them")
	}
	switch {
	case o.Model.Retry.Max == 0:
		o.Model.Retry.Max = 3
	case o.Model.Retry.Max < 0:
		o.Model.Retry.Max = 0
	}
	if o.Model.Retry.Base <= 0 {
		o.Model.Retry.Base = 2 * time.Second
	}
	if o.Model.Retry.Cap <= 0 {
		o.Model.Retry.Cap = 30 * time.Second
	}
	if o.Model.Retry.After <= 0 {
		o.Model.Retry.After = time.Minute
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return ulid.Make().String() }
		if o.Sessions != nil {
			o.NewID = o.Sessions.NewID
		}
	}
	if o.Sleep == nil {
		o.Sleep = wait.Cause
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	o.TranscriptObservers = slices.Clone(o.TranscriptObservers)
	o.LoopObservers = slices.Clone(o.LoopObservers)
	o.Mutators = slices.Clone(o.Mutators)
	return nil
}

// Run gives input to the agent and yields events until the turn ends. The last event is a
// [event.Result]. Without parts, the turn starts with queued input, or with a transcript whose last
// item still needs an answer. If there is neither, the error is ErrNoInput.
//
// If a model call fails, the Result has the error. The error of a tool is a tool result that the
// model reads. The sequence yields any other error only if a failure stops the agent: for example,
// a failure of the store or of an observer. Breaking out of the range loop interrupts the turn.
func (a *Agent) Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if !a.running.TryLock() {
			yield(nil, ErrRunning)
			return
		}
		defer a.running.Unlock()
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		listening := true
		emit := func(e event.Event) {
			if listening && !yield(e, nil) {
				listening = false
				stop(errInterrupted)
			}
		}
		res, err := a.run(ctx, emit, input)
		if !listening {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(*res, nil)
	}
}

// Prompt runs one turn with a text and returns its result. It returns an error only if a failure
// stops the agent; Result.Err is the error of a failed model call.
func (a *Agent) Prompt(ctx context.Context, text string) (*event.Result, error) {
	if !a.running.TryLock() {
		return nil, ErrRunning
	}
	defer a.running.Unlock()
	return a.run(ctx, func(event.Event) {}, []transcript.Part{transcript.Text{Text: text}})
}

func (a *Agent) run(ctx context.Context, emit func(event.Event), input []transcript.Part) (*event.Result, error) {
	l, err := a.start(ctx, emit)
	if err != nil {
		return nil, err
	}
	l.emit = emit
	l.alone = a.opt.Permissions.Ask == nil
	defer l.silence()
	a.resumeSuspended()
	ctx, done := a.interruptible(ctx)
	defer done()
	if err := l.begin(ctx, input); err != nil {
		if blocked, ok := errors.AsType[*event.Error](err); ok && blocked.HookEvent != "" {
			l.emitPending()
			return &event.Result{SessionID: l.opened.ID, Reason: event.ReasonHook, Err: blocked, ByModel: map[string]event.ModelUsage{}}, nil
		}
		return nil, err
	}
	for {
		step, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case step.Result != nil:
			return step.Result, nil
		case step.AwaitingInput:
			return nil, ErrNoInput
		case len(step.Approvals) > 0:
			if err := l.consult(ctx, step.Approvals[0]); err != nil {
				return nil, errors.Join(err, l.halt(ctx))
			}
		}
	}
}

// Start opens the session without running anything and returns the event that describes it. The
// next run emits this event as its first event. Calling Start is optional.
func (a *Agent) Start(ctx context.Context) (event.SessionOpened, error) {
	if !a.running.TryLock() {
		return event.SessionOpened{}, ErrRunning
	}
	defer a.running.Unlock()
	l, err := a.start(ctx, nil)
	if err != nil {
		return event.SessionOpened{}, err
	}
	return l.opened, nil
}

// Submit queues input for the running turn, or for the next turn if none is running. A running turn
// reads it after the current tool round. The input is durable when Submit returns; Submit opens the
// session if needed. It returns ErrApprovalPending while an approval request waits, and an
// *event.Error if a hook blocks the prompt, which is then not stored.
func (a *Agent) Submit(ctx context.Context, input ...transcript.Part) error {
	a.mu.Lock()
	started := a.snapshot != nil || a.closed
	a.mu.Unlock()
	if !started {
		if _, err := a.Start(ctx); err != nil {
			return err
		}
	}
	return a.enqueue(ctx, input, false)
}

// checkInput returns the reason why input is rejected now, or nil.
func (a *Agent) checkInput(input []transcript.Part, asking bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.asking && !a.closed && !asking:
		return ErrApprovalPending
	case a.closed:
		return ErrClosed
	case len(input) == 0:
		return ErrNoInput
	}
	return nil
}

func (a *Agent) userItem(input []transcript.Part, meta map[string]json.RawMessage) (transcript.Encoded, error) {
	return a.encode(transcript.Item{
		ID: a.opt.NewID(), Time: a.opt.Clock(), Role: transcript.RoleUser, Parts: input, Metadata: meta,
	})
}

// Note appends records of the kinds vendor.mapped and workspace.event, which are not part of the
// transcript. They are durable when the method returns. Without a store it does nothing. It returns
// ErrClosed, errors of the store, and an error that wraps [session.ErrInvalid] for another kind.
func (a *Agent) Note(ctx context.Context, drafts ...session.Draft) error {
	for _, d := range drafts {
		if d.Kind != record.KindVendorMapped && d.Kind != record.KindWorkspaceEvent {
			return fmt.Errorf("agent: note of kind %s: %w", d.Kind, session.ErrInvalid)
		}
	}
	a.mu.Lock()
	log, closed := a.log, a.closed
	a.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case log == nil || len(drafts) == 0:
		return nil
	}
	masked := make([]session.Draft, len(drafts))
	for i, d := range drafts {
		masked[i] = a.masked(d)
	}
	ctx, kept := detachedContext(ctx)
	_, err := log.Append(ctx, masked...)
	return kept(err)
}

// Interrupt stops the running turn: a partial answer is kept and marked, every open call gets a
// result, and the run ends with ReasonInterrupted. It returns at once and does nothing if no turn
// is running.
func (a *Agent) Interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupt != nil {
		a.interrupt(errInterrupted)
	}
}

// fenced ends all work because another process took over the session, so nothing can be recorded.
func (a *Agent) fenced(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupt != nil {
		a.interrupt(cause)
	}
}

// leaseLost ends background work. When it returns, another process can take over the session.
func (a *Agent) leaseLost(cause error) {
	if errors.Is(cause, session.ErrFenced) {
		a.fenced(cause)
	}
	if a.opt.parent == nil { // a sub-agent's hooks belong to the run
		a.opt.Hooks.Registry.CancelAsync(cause)
	}
	if a.opt.OnLeaseLost != nil {
		a.opt.OnLeaseLost(cause)
	}
}

// interruptible returns a context that Interrupt cancels until done is called.
// Inside a run it returns ctx, because Interrupt ends the whole run.
func (a *Agent) interruptible(ctx context.Context) (_ context.Context, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupt != nil {
		return ctx, func() {}
	}
	ctx, stop := context.WithCancelCause(ctx)
	a.interrupt = stop
	if a.userStopped {
		stop(errInterrupted)
	}
	return ctx, func() {
		a.mu.Lock()
		a.interrupt = nil
		a.mu.Unlock()
		stop(nil)
	}
}

var errInterrupted = errors.New("interrupted")

// SetTools changes the tools that the model may call, starting with the next request.
func (a *Agent) SetTools(r *tool.Registry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tools, a.toolsNew = r, true
}

// toolNames returns the names of the tools that the model may call.
func (a *Agent) toolNames() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := []string{}
	for _, t := range a.tools.Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// toolNow returns the tool with this name, if the model may call it in the next request.
func (a *Agent) toolNow(name string) (tool.Tool, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tools.Lookup(name)
}

// SessionID returns the id of the session. After a fork this is the id of the fork. Before the
// session is opened, it returns the id that was given in the options, or "". Without a store it is
// "".
func (a *Agent) SessionID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// Sessions returns the store of the agent's session, or nil.
func (a *Agent) Sessions() *session.Sessions { return a.opt.Sessions }

// Snapshot is a point-in-time view of an agent.
type Snapshot struct {
	SessionID string
	Seq       int64 // seq of the last record, or 0 without a store
	Items     []transcript.Encoded
	Pending   []transcript.Encoded // queued input
	Approvals []approval.Request   // open approval requests: of this agent, then of its sub-agents
}

// Snapshot returns the transcript and everything that is pending, such as approval requests. It
// does not stop the loop.
func (a *Agent) Snapshot() Snapshot {
	s := a.ownSnapshot()
	s.Approvals = append(s.Approvals, a.opt.Subagents.approvals()...)
	return s
}

func (a *Agent) ownSnapshot() Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.snapshot == nil {
		items := make([]transcript.Encoded, 0, len(a.opt.Transcript))
		for _, it := range a.opt.Transcript {
			if e, err := it.Encode(); err == nil {
				items = append(items, e)
			}
		}
		return Snapshot{SessionID: a.id, Items: items}
	}
	s := a.snapshot()
	s.SessionID, s.Pending = a.id, slices.Clone(a.queue)
	if a.log != nil {
		s.Seq = a.log.Head()
	}
	return s
}

// Close interrupts a running turn, waits for its end, and releases the session. Grants of the
// session apply again when the session is resumed. If a session id was given but never used, Close
// creates an empty session with it. A second Close returns ErrClosed.
func (a *Agent) Close() error { return a.close(false) }

// Suspend closes the agent so that its turn can be resumed later. The working folders of sub-agents
// are kept, and approval requests stay open, as after a kill.
func (a *Agent) Suspend() error { return a.close(true) }

func (a *Agent) close(suspend bool) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return ErrClosed
	}
	a.closed, a.suspending = true, suspend
	if a.interrupt != nil {
		a.interrupt(errInterrupted)
	}
	a.mu.Unlock()
	a.running.Lock()
	defer a.running.Unlock()
	if a.loop == nil && a.opt.Sessions != nil && a.opt.Session.SessionID != "" && !a.opt.NoPersist {
		return a.leaveMarker()
	}
	var err error
	if a.loop != nil {
		err = a.loop.halt(endContext())
		err = errors.Join(err, a.opt.Subagents.close(suspend))
		err = errors.Join(err, a.opt.Background.close(a.loop.broken != nil))
		err = errors.Join(err, a.loop.fireSessionEnd(endContext()))
	}
	if log := a.openLog(); log != nil {
		err = errors.Join(err, log.Close())
	}
	return err
}

func (a *Agent) leaveMarker() error {
	o := a.opt.Session.Opened
	o.SessionID = a.opt.Session.SessionID
	ctx := retry.Within(context.Background(), 0) // do not wait for an unavailable store
	log, err := a.opt.Sessions.Create(ctx, a.describe(o))
	if errors.Is(err, session.ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return log.Close()
}
