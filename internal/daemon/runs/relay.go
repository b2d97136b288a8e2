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

// relayLog names the records of agents that have sessions of their own in the run's log,
// in the order in which they came, and puts deltas where they belong between them.
//
//	agent's append ─► wake ─┐
//	agent's delta ─► publish ┴─► queue ─► relayed {session, from, to} │ Hub.Publish
type relayLog struct {
	x      *run
	quit   chan struct{}
	done   chan struct{}
	wakeCh chan struct{} // there is something in the queue

	recorded map[string]int64 // by session: the last record that the run's log names; of work alone

	mu          sync.Mutex
	queue       []relayed
	settled     sync.Cond // the queue is empty and nothing of it is on its way
	working     bool
	names       map[string]string // of sub-agents, by session
	failed      map[string]error  // by session: what is not in the run's log, since the store fails
	unconfirmed bool              // whether the last append took place; of work alone
}

// relayed is a delta, or, without one, that a session has new records up to one; 0 is all.
type relayed struct {
	session string
	to      int64
	agent   string
	delta   event.Event
}

// relayQueue bounds the deltas that wait. More of them are lost, as deltas may be.
const relayQueue = 4096

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

// syncAll says what the agents' sessions got while the run did not run.
func (l *relayLog) syncAll(ctx context.Context) {
	for _, a := range l.x.strategy.Agents {
		id := l.x.sessionOf(a.Name)
		m, err := l.x.r.o.Sessions.Get(ctx, id)
		if !errors.Is(err, session.ErrNotFound) { // no step of the agent has come yet
			l.notify(id, m.Head)
		}
	}
}

// notify says that a session has new records up to one, so that what comes behind a delta
// which waits is not named before it; 0 is all. The run's own needs no naming.
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
	l.add(relayed{session: session, to: to})
}

// helped says that the session of a sub-agent has new records; name may be "". It reports
// whether they will be named: not when the run ends.
func (x *run) helped(session, name string) bool {
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

// subagentRelay names the records of sub-agents. Of a sole agent, whose own deltas stand beside
// its own records, it is made when there is need of it. x.mu is held.
func (x *run) subagentRelay() *relayLog {
	if x.relay != nil {
		return x.relay
	}
	if x.helpers == nil {
		x.helpers = newRelay(x)
	}
	return x.helpers
}

// relaying is what names records of other sessions in the run's log, or nil.
func (x *run) relaying() *relayLog {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(x.relay, x.helpers)
}

func (l *relayLog) publish(m *runAgent, e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) < relayQueue {
		l.add(relayed{session: m.session, agent: m.spec.Name, delta: e})
	}
}

func (l *relayLog) add(r relayed) {
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
			l.note(r.session, l.catchUp(context.Background(), r.session, r.to))
		}
	}
}

// note keeps what became of catching up. What fails is tried again when the session
// has news, and when somebody has to know that everything is there.
func (l *relayLog) note(session string, err error) {
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

// fault joins what fails. l.mu is held.
func (l *relayLog) fault() error { return errors.Join(slices.Collect(maps.Values(l.failed))...) }

// relayRemaining names in a run's log what the sessions of its agents have and it does not,
// while the run does not run.
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

// nameOf is the name of an agent of a run, by its session: a sub-agent is known by what was
// decided about it.
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

// relayAnswer lets those who follow a run that does not run hear of an answer to one of
// its agents. Where it runs meanwhile, its own relay does; one that ends is waited for.
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
		again := time.NewTimer(settling) // of a run that could not be started nobody says that it ended
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

// relayNow has the news of a session named in the run's log, unless the run is about to
// end and names nothing any more: that one is returned.
func (r *Runs) relayNow(ctx context.Context, owner, id string) (ending *run, err error) {
	relayed, err := r.turns.lock(ctx, relayTurn(owner))
	if err != nil {
		return nil, err
	}
	defer relayed()
	if x := r.lookup(owner); x != nil && x.begun() {
		if x.helped(id, "") {
			return nil, nil
		}
		return x, nil
	}
	p, err := r.fold(ctx, owner)
	if err != nil {
		return nil, err
	}
	return nil, r.relayRemaining(ctx, owner, p)
}

// catchUp names what a session has up to a record and the run's log does not; 0 is all.
func (l *relayLog) catchUp(ctx context.Context, id string, to int64) error {
	m, err := l.x.r.o.Sessions.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil // no step of the agent has come yet
	}
	if err != nil {
		return err
	}
	if l.unconfirmed { // the log knows
		p, err := l.x.r.fold(ctx, l.x.id)
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

// agentOf is the name of the agent whose session it is.
func (l *relayLog) agentOf(ctx context.Context, id string) (string, error) {
	l.mu.Lock()
	name := l.names[id]
	l.mu.Unlock()
	if name != "" {
		return name, nil
	}
	return l.x.r.nameOf(ctx, l.x.id, id)
}

// settle waits until everything that the agents have done is in the run's log.
func (l *relayLog) settle(context.Context) error {
	for _, m := range l.x.all() {
		l.notify(m.session, 0)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.failed {
		l.add(relayed{session: id})
	}
	for id := range l.names {
		l.add(relayed{session: id})
	}
	for len(l.queue) > 0 || l.working {
		l.settled.Wait()
	}
	return l.fault()
}

// close relays the rest of these sessions, and ends.
func (l *relayLog) close(sessions []string) error {
	for _, id := range sessions {
		l.notify(id, 0)
	}
	l.mu.Lock()
	for id := range l.names {
		l.add(relayed{session: id})
	}
	l.mu.Unlock()
	close(l.quit)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault()
}
