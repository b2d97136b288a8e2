package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// state is where a run stands in memory.
type state int

const (
	preparing state = iota // its id is taken, nobody may start it yet
	prepared
	running
	endRecorded // its end is on record, or about to be
)

// run is one run from its preparation to its end.
type run struct {
	r        *Runs
	id       string
	mask     *secret.Masker
	opt      PrepareOptions
	strategy *strategy.Strategy
	info     wire.StrategyInfo
	past     *runHistory // nil: a new run
	project  string      // of the session, when it is there

	segment   int
	startedAt time.Time
	requestID string        // of who started it
	resumed   *runHistory   // the segment that was interrupted goes on: what it has done
	done      chan struct{} // closed when the end is on record
	relay     *relayLog     // nil: there is one agent, in the run's own session
	helpers   *relayLog     // without relay: of sub-agents, once there is one; under mu
	log       *session.Log  // that keeps the run's session for this process; nil with one agent
	shared    *agent.Run    // what decides for all agents, from log; nil with one agent, and with agents in a workspace

	mu        sync.Mutex
	state     state
	cancel    context.CancelCauseFunc
	stopped   *stopRequest
	leaving   bool // with a question open
	closed    bool // nothing is named in its log any more
	members   map[string]*runAgent
	questions map[string]*question
	inputs    map[string]*input
	asking    []*input // that are being put on record
	steering  []string
	changes   []policy.Change // for agents that have not worked yet
}

// stopRequest is who wants the end of a run.
type stopRequest struct {
	by        Actor
	requestID string
}

var (
	errStopped   = errors.New("the run was stopped")
	errSuspended = fmt.Errorf("the run waits until it is continued: %w", strategy.ErrPaused)
	errDraining  = errors.New("the daemon is shutting down")
)

func newRun(r *Runs, id string) *run {
	return &run{
		r: r, id: id, done: make(chan struct{}),
		members: map[string]*runAgent{}, questions: map[string]*question{},
		inputs: map[string]*input{},
	}
}

func (x *run) begun() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == running || x.state == endRecorded
}

// running reports whether a run has begun and not ended.
func (x *run) running() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == running
}

// works reports whether a session is the run's, or that of one of its agents.
func (x *run) works(id string) bool {
	if id == x.id {
		return true
	}
	for _, a := range x.strategy.Agents {
		if x.sessionOf(a.Name) == id {
			return true
		}
	}
	return false
}

// sessionOf is the id of an agent's session.
func (x *run) sessionOf(agentName string) string {
	if soleAgent(x.strategy) == agentName {
		return x.id
	}
	return x.id + "." + agentName
}
