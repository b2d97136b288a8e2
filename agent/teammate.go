package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Teammate is a sub-agent that continues to exist after its turn. It works on its queued input and
// then waits for more input, until it is dismissed or its parent closes.
//
//	QueueNotification ─► its log ─► turn … turn ─► OnIdle ─┬─► a text ─► turn
//	  ▲                                                    └─► waits
//	  └────────────────────────────────────────────────────┘
//
// Queued input is durable, so a teammate of the same session receives it after a restart. The
// methods are safe for concurrent use.
type Teammate struct {
	s       *Subagents
	parent  *Agent
	agent   *Agent
	setup   *SubagentSetup
	options TeammateOptions
	stop    context.CancelCauseFunc
	done    chan struct{}

	mu      sync.Mutex
	working bool
	err     error
}

// TeammateOptions are the options of [Subagents.StartTeammate].
type TeammateOptions struct {
	Name    string      // the name of the teammate in decisions and approval requests, unique among running teammates
	Kind    Definition  // the prompt, model and tools of the teammate
	Title   string      // the title of the teammate's session
	Tag     string      // the tag of its session
	Use     string      // the id of the tool use that starts it, or ""
	Session string      // the id of the session to resume, or ""
	Mode    policy.Mode // a mode that is stricter than the mode of Kind, or ""
	Tools   []tool.Tool // additional tools
	// OnIdle is called when the teammate has no work, before it waits. If it returns a text, the
	// teammate continues with that text as input. The parameter last is nil if the teammate has had
	// no work yet. OnIdle must not wait for the teammate. If OnIdle is nil, the teammate waits.
	OnIdle func(ctx context.Context, m *Teammate, last *event.Result) (next string)
	// Before, if not nil, is called after the teammate's session was opened and before the
	// teammate's first turn.
	Before func(ctx context.Context, m *Teammate) error
	// OnError is called if the teammate ended with an error because its records could not be
	// written.
	OnError func(m *Teammate, err error)
}

// errNameTaken is returned if a teammate with that name already works.
var errNameTaken = errors.New("a teammate with this name already works")

// StartTeammate starts a teammate. It continues the open work of its session or waits for input.
// ctx limits only the start. It returns an error if a teammate with that name already works, and
// ErrClosed if the parent is closed or is closed during the call.
func (s *Subagents) StartTeammate(ctx context.Context, h TeammateOptions) (*Teammate, error) {
	p, err := s.parent()
	if err != nil {
		return nil, err
	}
	if err := h.Kind.check(); err != nil {
		return nil, err
	}
	if h.Name == "" {
		return nil, errors.New("the teammate has no name; hint: set TeammateOptions.Name")
	}
	if err := s.admit(h.Name, nil); err != nil {
		return nil, err
	}
	a, with, err := s.newChild(ctx, p, spawnParams{
		kind: h.Kind, name: h.Name, title: h.Title, tag: h.Tag, use: h.Use, resume: h.Session, mode: h.Mode, extra: h.Tools,
	})
	if err != nil {
		return nil, err
	}
	abort := func(err error) (*Teammate, error) {
		return nil, errors.Join(err, a.Suspend(), with.close(context.WithoutCancel(ctx), p))
	}
	if _, err := a.Start(ctx); err != nil {
		return abort(err)
	}
	m := &Teammate{s: s, parent: p, agent: a, setup: with, options: h, done: make(chan struct{}), working: true}
	run, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	m.stop = stop
	if h.Before != nil {
		if err := h.Before(ctx, m); err != nil {
			stop(nil)
			return abort(err)
		}
	}
	if err := s.admit(h.Name, m); err != nil { // another teammate may have taken the name in the meantime
		stop(nil)
		return abort(err)
	}
	go m.run(run)
	return m, nil
}

// admit returns an error if no teammate with this name can start now. Otherwise it adds m to the list,
// if m is not nil.
func (s *Subagents) admit(name string, m *Teammate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case slices.ContainsFunc(s.teammates, func(o *Teammate) bool { return o.options.Name == name }):
		return fmt.Errorf("%s: %w", name, errNameTaken)
	case m != nil:
		s.teammates = append(s.teammates, m)
	}
	return nil
}

// Name returns the name of the teammate.
func (m *Teammate) Name() string { return m.options.Name }

// Kind returns the definition of the teammate.
func (m *Teammate) Kind() Definition { return m.options.Kind }

// Session returns the id of the teammate's session.
func (m *Teammate) Session() string { return m.agent.SessionID() }

// Agent returns the teammate as an agent, to fire events and to read its state. Only the teammate
// runs its turns.
func (m *Teammate) Agent() *Agent { return m.agent }

// Working reports whether the teammate works or has queued input.
func (m *Teammate) Working() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.working || m.pending()
}

// QueueNotification is [Agent.QueueNotification] for the teammate, which works on the notification.
func (m *Teammate) QueueNotification(ctx context.Context, parts ...transcript.Part) error {
	return m.agent.QueueNotification(ctx, parts...)
}

// QueueNotificationOnce is [Agent.QueueNotificationOnce] for the teammate.
func (m *Teammate) QueueNotificationOnce(ctx context.Context, id string, parts ...transcript.Part) (bool, error) {
	return m.agent.QueueNotificationOnce(ctx, id, parts...)
}

// run runs on the teammate's goroutine.
func (m *Teammate) run(ctx context.Context) {
	defer close(m.done)
	err := m.work(ctx)
	m.finish(err)
	if err != nil && m.options.OnError != nil {
		m.options.OnError(m, err)
	}
}

// work runs turns until ctx ends.
func (m *Teammate) work(ctx context.Context) error {
	for first := true; ; first = false {
		res, err := m.turn(ctx)
		more := m.more()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the teammate ends
		case errors.Is(err, approval.ErrSuspend):
			if !m.awaitParent(ctx, err) {
				return nil // the teammate ends, and its approval request stays open
			}
			continue
		case err != nil && !errors.Is(err, ErrNoInput):
			return err
		case m.pending():
			continue
		}
		if m.options.OnIdle != nil && (res != nil || first) {
			if next := m.options.OnIdle(ctx, m, res); next != "" && ctx.Err() == nil {
				if err := m.agent.QueueNotification(ctx, transcript.Text{Text: next}); err != nil {
					return err
				}
				continue
			}
		}
		if !m.wait(ctx, more) {
			return nil
		}
	}
}

// awaitParent waits until the parent runs again, while an approval request is suspended. It returns
// false if the teammate must end.
func (m *Teammate) awaitParent(ctx context.Context, err error) bool {
	select {
	case <-m.parent.suspendFor(err):
		return true
	case <-ctx.Done():
		return false
	}
}

// more returns a channel that is closed when the queue grows.
func (m *Teammate) more() <-chan struct{} {
	m.agent.mu.Lock()
	defer m.agent.mu.Unlock()
	return m.agent.more
}

// turn runs one turn on the queued input.
func (m *Teammate) turn(ctx context.Context) (*event.Result, error) {
	free, err := m.s.acquireSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	var res *event.Result
	for e, err := range m.agent.Run(ctx) {
		if err != nil {
			return res, err
		}
		if r, ok := e.(event.Result); ok {
			res = &r
		}
		m.parent.queueEvent(event.SubagentEvent{Use: m.options.Use, Session: m.agent.SessionID(), Name: m.options.Name, Event: e})
	}
	return res, nil
}

func (m *Teammate) pending() bool {
	m.agent.mu.Lock()
	defer m.agent.mu.Unlock()
	return len(m.agent.queue) > 0
}

// wait marks the teammate as idle until the queue grows. It returns false if the teammate must end.
func (m *Teammate) wait(ctx context.Context, more <-chan struct{}) bool {
	m.setWorking(false)
	m.s.notifyWaiters()
	select {
	case <-more:
		m.setWorking(true) // must be set before the turn takes all items from the queue
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *Teammate) setWorking(working bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.working = working
}

// finish closes or suspends the teammate's agent and removes it from the list.
func (m *Teammate) finish(err error) {
	m.s.mu.Lock()
	end := m.agent.Close
	if m.s.closed && m.s.suspending {
		end, m.setup.OnEnd = m.agent.Suspend, noRemains
	}
	m.s.mu.Unlock()
	err = errors.Join(err, end(), m.setup.close(context.Background(), m.parent))
	m.setWorking(false)
	m.mu.Lock()
	m.err = err
	m.mu.Unlock()
	m.s.mu.Lock()
	m.s.teammates = slices.DeleteFunc(m.s.teammates, func(o *Teammate) bool { return o == m })
	m.s.mu.Unlock()
	m.s.notifyWaiters()
}

var errDismissed = errors.New("dismissed")

// Dismiss ends the teammate and waits for its end. It interrupts a running turn. The session
// is kept. It returns the error of ctx, or the error with which the teammate ended.
func (m *Teammate) Dismiss(ctx context.Context) error {
	m.stop(errDismissed)
	select {
	case <-m.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Retire ends the teammate without waiting for its end, for use in [TeammateOptions].OnIdle.
func (m *Teammate) Retire() { m.stop(errDismissed) }

// Done returns a channel that is closed when the teammate has ended.
func (m *Teammate) Done() <-chan struct{} { return m.done }

// notifyWaiters wakes the calls that wait for teammates; each of them checks the state again.
func (s *Subagents) notifyWaiters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Teammates returns the running teammates, in the order in which they were started.
func (s *Subagents) Teammates() []*Teammate {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.teammates)
}

// busy reports whether a teammate works. The channel is closed when that state may have changed.
func (s *Subagents) busy() (bool, <-chan struct{}) {
	if s == nil {
		return false, nil
	}
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	return slices.ContainsFunc(s.Teammates(), (*Teammate).Working), changed
}

// close closes all teammates and waits until they have ended.
func (s *Subagents) close(suspend bool) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed, s.suspending = true, suspend
	list := slices.Clone(s.teammates)
	s.mu.Unlock()
	var err error
	for _, m := range list {
		m.stop(errClosing)
	}
	for _, m := range list {
		err = errors.Join(err, m.Dismiss(context.Background()))
	}
	return err
}

// QueueNotificationOnce is [Agent.QueueNotification] for an item with an id that the caller
// chooses. If the session already has an item with that id, even from before a restart, the method
// does nothing, and queued is false.
func (a *Agent) QueueNotificationOnce(ctx context.Context, id string, parts ...transcript.Part) (queued bool, err error) {
	if id == "" || strings.ContainsAny(id, "\n\r\x00") {
		return false, fmt.Errorf("item id %q: %w", id, session.ErrInvalid)
	}
	if err := a.openFor(ctx, parts); err != nil {
		return false, err
	}
	e, first, err := a.once.begin(ctx, id, a.itemIDs)
	if err != nil || !first {
		return false, err
	}
	defer func() { a.once.end(id, e, err) }()
	if e.ID() == "" {
		e, err = a.encode(transcript.Item{ID: id, Time: a.opt.Clock(), Role: transcript.RoleNotification, Parts: parts})
		if err != nil {
			return false, err
		}
	}
	if err = a.queueNotification(ctx, nil, e); err != nil {
		return false, err
	}
	return true, nil
}

// itemIDs contains the ids of the items of a session, so that each item is appended only once.
type itemIDs struct {
	mu       sync.Mutex
	ids      map[string]bool // nil until the first use
	recorded map[string]bool // ids of recorded notifications of a resumed session
	// tried has the items whose append failed but may have been recorded; a new attempt appends the
	// same item.
	tried   map[string]transcript.Encoded
	pending map[string]chan struct{} // the appends in progress; each channel is closed when its append ends
}

// begin returns first as true if the session does not have the item with this id yet. The caller
// must then append the item and call end. begin waits for a concurrent append of the same item. The
// result e is the item from an earlier attempt, or the zero value. The parameter all returns the
// ids of the session's items.
func (s *itemIDs) begin(ctx context.Context, id string, all func() map[string]bool) (e transcript.Encoded, first bool, err error) {
	for {
		s.mu.Lock()
		if s.ids == nil {
			s.ids = all()
		}
		pending := s.pending[id]
		if s.ids[id] || pending == nil {
			defer s.mu.Unlock()
			if s.ids[id] {
				return e, false, nil
			}
			if s.pending == nil {
				s.pending, s.tried = map[string]chan struct{}{}, map[string]transcript.Encoded{}
			}
			s.pending[id] = make(chan struct{})
			return s.tried[id], true, nil
		}
		s.mu.Unlock()
		select {
		case <-pending:
		case <-ctx.Done():
			return e, false, context.Cause(ctx)
		}
	}
}

// end stores how the append of an item ended.
func (s *itemIDs) end(id string, e transcript.Encoded, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.pending[id])
	delete(s.pending, id)
	switch {
	case err == nil:
		delete(s.tried, id)
		if s.ids != nil {
			s.ids[id] = true
		}
	case session.IsTransient(err): // the item may have been recorded despite the error
		s.tried[id] = e
		fallthrough
	default:
		s.ids = nil
	}
}

// itemIDs returns the ids of the items in the transcript, of queued items and of recorded
// notifications.
func (a *Agent) itemIDs() map[string]bool {
	ids := map[string]bool{}
	maps.Copy(ids, a.once.recorded)
	s := a.Snapshot()
	for _, e := range slices.Concat(s.Items, s.Pending) {
		ids[e.ID()] = true
	}
	return ids
}
