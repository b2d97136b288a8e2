package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// relayLog records in the run's log references to the records of agents with separate sessions, in
// the order of arrival. It publishes the deltas at the right places between these references.
//
//	agent's append ─► wake ─┐
//	agent's delta ─► publish ┴─► queue ─► relayed {session, from, to} │ Hub.Publish
type relayLog struct {
	x      *run
	quit   chan struct{}
	done   chan struct{}
	wakeCh chan struct{} // the queue is not empty

	recorded map[string]int64 // key: a session; value: the last record that the run's log refers to; only work uses it

	mu          sync.Mutex
	queue       []relayEntry
	settled     sync.Cond // the queue is empty and none of its entries is being processed
	working     bool
	names       map[string]string // of sub-agents, by session
	failed      map[string]error  // key: a session; value: why records of it are missing from the run's log
	unconfirmed bool              // set if it is unknown whether the last append succeeded; only work uses this field
}

// relayEntry is a delta. Without a delta, it is a notice that a session has new records up to a seq; 0
// means all records.
type relayEntry struct {
	session string
	to      int64
	agent   string
	delta   event.Event
}

// maxRelayQueue is the maximum number of waiting deltas. Deltas beyond that are dropped; dropping
// deltas is allowed.
const maxRelayQueue = 4096

func newRelay(x *run) *relayLog {
	l := &relayLog{x: x, quit: make(chan struct{}), done: make(chan struct{}), wakeCh: make(chan struct{}, 1), recorded: map[string]int64{}, names: map[string]string{}, failed: map[string]error{}}
	l.settled.L = &l.mu
	if x.past != nil {
		maps.Copy(l.recorded, x.past.relayed)
		maps.Copy(l.names, x.past.names)
	}
	go l.work()
	return l
}

// syncAll relays the records that the agents' sessions received while the run was not active.
func (l *relayLog) syncAll(ctx context.Context) {
	for _, a := range l.x.strategy.Agents {
		id := l.x.sessionOf(a.Name)
		m, err := l.x.r.o.Sessions.Get(ctx, id)
		if !errors.Is(err, session.ErrNotFound) { // ErrNotFound means that the agent has not run a step yet
			l.notify(id, m.Head)
		}
	}
}

// notify queues a notice that a session has new records up to a seq (0: all records). The queue
// keeps the order, so records after a waiting delta are not relayed before it. The run's own
// session needs no relay.
func (l *relayLog) notify(session string, to int64) {
	if session == l.x.id {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.queue); n > 0 && l.queue[n-1].delta == nil && l.queue[n-1].session == session {
		if last := &l.queue[n-1]; last.to == 0 || to == 0 {
			last.to = 0
		} else {
			last.to = max(last.to, to)
		}
		return
	}
	l.add(relayEntry{session: session, to: to})
}

// notifySubagent notifies the relay that the session of a sub-agent has new records. The parameter
// name may be "". It returns false if the records will not be relayed because the run is ending.
func (x *run) notifySubagent(session, name string) bool {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return false
	}
	l := x.subagentRelay()
	x.mu.Unlock()
	if name != "" {
		l.mu.Lock()
		l.names[session] = name
		l.mu.Unlock()
	}
	l.notify(session, 0)
	return true
}

// subagentRelay returns the relay for the records of sub-agents. A run with only one agent creates
// it on first use, because that agent publishes its own deltas directly. The caller holds x.mu.
func (x *run) subagentRelay() *relayLog {
	if x.relay != nil {
		return x.relay
	}
	if x.subagents == nil {
		x.subagents = newRelay(x)
	}
	return x.subagents
}

// currentRelay returns the relay of the run, or nil.
func (x *run) currentRelay() *relayLog {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(x.relay, x.subagents)
}

func (l *relayLog) publish(m *runAgent, e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) < maxRelayQueue {
		l.add(relayEntry{session: m.session, agent: m.spec.Name, delta: e})
	}
}

func (l *relayLog) add(r relayEntry) {
	l.queue = append(l.queue, r)
	select {
	case l.wakeCh <- struct{}{}:
	default:
	}
}

func (l *relayLog) work() {
	defer close(l.done)
	for {
		select {
		case <-l.wakeCh:
			l.drain()
		case <-l.quit:
			l.drain()
			return
		}
	}
}

func (l *relayLog) drain() {
	for {
		l.mu.Lock()
		list := l.queue
		l.queue, l.working = nil, len(list) > 0
		if len(list) == 0 {
			l.settled.Broadcast()
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		for _, r := range list {
			if r.delta != nil {
				l.x.r.o.Hub.Publish(l.x.id, r.agent, r.delta)
				continue
			}
			l.recordResult(r.session, l.catchUp(context.Background(), r.session, r.to))
		}
	}
}

// recordResult stores the result of catchUp. If a session failed, it is retried when it has new
// records, and when a caller needs all of its records.
func (l *relayLog) recordResult(session string, err error) {
	l.mu.Lock()
	first := len(l.failed) == 0
	if err == nil {
		delete(l.failed, session)
	} else {
		l.failed[session] = err
	}
	l.mu.Unlock()
	if err != nil && first {
		l.x.r.o.Log.Error("cannot relay records of an agent to the run's log", slog.String("run", l.x.id), slog.Any("error", err))
	}
}

// fault joins the stored errors. The caller holds l.mu.
func (l *relayLog) fault() error { return errors.Join(slices.Collect(maps.Values(l.failed))...) }

// relayRemaining adds the references that are missing from the log of an inactive run.
func (r *Runs) relayRemaining(ctx context.Context, run string, p *runHistory) error {
	owned, err := r.o.Sessions.List(ctx, session.Query{Owner: run, Worktrees: true})
	if err != nil {
		return err
	}
	for _, o := range owned.Sessions {
		if o.Head <= p.relayed[o.ID] {
			continue
		}
		e := wire.RunEvent{
			Event: wire.RunRelayed, Segment: p.segment, Agent: p.names[o.ID],
			Session: o.ID, From: p.relayed[o.ID] + 1, To: o.Head,
		}
		if e.Agent == "" {
			if e.Agent, err = r.nameOf(ctx, run, o.ID); err != nil {
				return err
			}
		}
		if _, err := r.append(ctx, run, e); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of an agent of a run by its session. The name of a sub-agent is taken
// from the decisions in its log.
func (r *Runs) nameOf(ctx context.Context, run, id string) (string, error) {
	if name, ok := strings.CutPrefix(id, run+"."); ok {
		return name, nil
	}
	for rec, err := range r.o.Sessions.Effective(ctx, id, session.Range{}) {
		if err != nil {
			return "", err
		}
		var of struct {
			Agent string `json:"agent"`
		}
		if rec.Kind == record.KindDecision && json.Unmarshal(rec.Payload, &of) == nil && of.Agent != "" {
			return of.Agent, nil
		}
	}
	return "", nil
}

// relayAnswer relays the answer to an agent of an inactive run, so that the run's subscribers see
// the answer. If the run is active, the run's relay does that. If the run is ending, relayAnswer
// waits for its end.
func (r *Runs) relayAnswer(ctx context.Context, id string) error {
	m, err := r.o.Sessions.Get(ctx, id)
	if err != nil || m.Owner == "" {
		return err
	}
	for {
		ending, err := r.relayNow(ctx, m.Owner, id)
		if ending == nil {
			return err
		}
		again := time.NewTimer(applyTimeout) // a run that could not be started does not close done
		select {
		case <-ending.done:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
		again.Stop()
	}
}

// relayNow relays the new records of a session to the run's log. If the run is about to end and
// relays no more records, relayNow returns that run.
func (r *Runs) relayNow(ctx context.Context, owner, id string) (ending *run, err error) {
	relayed, err := r.locks.lock(ctx, relayLockName(owner))
	if err != nil {
		return nil, err
	}
	defer relayed()
	if x := r.lookup(owner); x != nil && x.begun() {
		if x.notifySubagent(id, "") {
			return nil, nil
		}
		return x, nil
	}
	p, err := r.readHistory(ctx, owner)
	if err != nil {
		return nil, err
	}
	return nil, r.relayRemaining(ctx, owner, p)
}

// catchUp relays the records of a session that the run's log does not refer to yet, up to a seq; 0
// means all records.
func (l *relayLog) catchUp(ctx context.Context, id string, to int64) error {
	m, err := l.x.r.o.Sessions.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil // the agent has not run a step yet
	}
	if err != nil {
		return err
	}
	if l.unconfirmed { // read the log to find out
		p, err := l.x.r.readHistory(ctx, l.x.id)
		if err != nil {
			return err
		}
		l.recorded, l.unconfirmed = p.relayed, false
	}
	from := l.recorded[id] + 1
	if to == 0 || to > m.Head {
		to = m.Head
	}
	if to < from {
		return nil
	}
	if err := l.relayRange(ctx, id, from, to); err != nil {
		l.unconfirmed = true
		return err
	}
	l.recorded[id] = to
	return nil
}

func (l *relayLog) relayRange(ctx context.Context, id string, from, to int64) error {
	name, err := l.agentOf(ctx, id)
	if err == nil {
		_, err = l.x.append(ctx, wire.RunEvent{
			Event: wire.RunRelayed, Segment: l.x.segment, Agent: name, Session: id, From: from, To: to,
		})
	}
	return err
}

// agentOf returns the name of the agent with this session.
func (l *relayLog) agentOf(ctx context.Context, id string) (string, error) {
	l.mu.Lock()
	name := l.names[id]
	l.mu.Unlock()
	if name != "" {
		return name, nil
	}
	return l.x.r.nameOf(ctx, l.x.id, id)
}

// waitComplete waits until the run's log has all records of the agents.
func (l *relayLog) waitComplete(context.Context) error {
	for _, m := range l.x.existingAgents() {
		l.notify(m.session, 0)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.failed {
		l.add(relayEntry{session: id})
	}
	for id := range l.names {
		l.add(relayEntry{session: id})
	}
	for len(l.queue) > 0 || l.working {
		l.settled.Wait()
	}
	return l.fault()
}

// close relays the remaining records of these sessions and stops the relay.
func (l *relayLog) close(sessions []string) error {
	for _, id := range sessions {
		l.notify(id, 0)
	}
	l.mu.Lock()
	for id := range l.names {
		l.add(relayEntry{session: id})
	}
	l.mu.Unlock()
	close(l.quit)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault()
}
