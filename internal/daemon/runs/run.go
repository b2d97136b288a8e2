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
	"github.com/holdfast-dev/holdfast/transcript"
)

// state is the state of a run in memory.
type state int

const (
	preparing state = iota // the run's id is reserved, but the run cannot be started yet
	prepared
	running
	endRecorded // the run's end is recorded or about to be recorded
)

// run is one run from its preparation to its end.
type run struct {
	r        *Runs
	id       string
	mask     *secret.Masker
	opt      PrepareOptions
	strategy *strategy.Strategy
	info     wire.StrategyInfo
	past     *runHistory // nil for a new run
	project  string      // the project of the session, if the session exists

	segment   int
	startedAt time.Time
	requestID string        // the id of the request that started the run
	resumed   *runHistory   // the interrupted segment that this segment continues; nil for a new segment
	done      chan struct{} // closed when the end of the run is recorded
	relay     *relayLog     // nil: the run has only one agent, which works in the run's own session
	subagents *relayLog     // if relay is nil: the relay of the sub-agents, once there is one; guarded by mu
	log       *session.Log  // holds the lease of the run's session; nil if the run has one agent
	shared    *agent.Run    // makes the decisions for all agents; nil if the run has one agent or its agents are in a workspace

	mu        sync.Mutex
	state     state
	cancel    context.CancelCauseFunc
	stopped   *stopRequest
	leaving   bool // the run ends while an approval request is open
	closed    bool // the run no longer relays records to its log
	agents    map[string]*runAgent
	approvals map[string]*pendingApproval
	inputs    map[string]*inputRequest
	asking    []*inputRequest    // being recorded
	images    []transcript.Media // of the input of the segment; set before the run is launched
	steering  []steering         // texts that no agent has yet; guarded by the steering lock
	sealed    bool               // no agent will read another text; changed while mu and the steering lock are held
	changes   []policy.Change    // changes for the agents that have not worked yet
}

// stopRequest describes who stopped the run.
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
		agents: map[string]*runAgent{}, approvals: map[string]*pendingApproval{},
		inputs: map[string]*inputRequest{},
	}
}

func (x *run) begun() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == running || x.state == endRecorded
}

// running reports whether the run has begun and not ended.
func (x *run) running() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == running
}

// hasSession reports whether a session is that of the run or of one of its agents.
func (x *run) hasSession(id string) bool {
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

// sessionOf returns the id of an agent's session.
func (x *run) sessionOf(agentName string) string {
	if soleAgent(x.strategy) == agentName {
		return x.id
	}
	return x.id + "." + agentName
}
