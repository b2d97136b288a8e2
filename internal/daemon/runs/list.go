package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

// ListOptions filter [Runs.List]. An empty field does not filter.
type ListOptions struct {
	Cwd    string
	Status api.RunStatus
	Limit  int // default 50, at most 500
	Cursor string
}

// List returns the recorded runs, the most recently updated first, and a cursor for the next page.
// Runs that are only prepared are not recorded.
func (r *Runs) List(ctx context.Context, o ListOptions) (list []api.RunInfo, next string, err error) {
	q := session.Query{Run: "*", CWD: o.Cwd, Limit: o.Limit, After: o.Cursor}
	if q.Limit <= 0 {
		q.Limit = 50
	}
	q.Limit = min(q.Limit, 500)
	switch o.Status {
	case "":
	case api.StatusWaiting: // a derived status
		q.Run = string(api.StatusRunning)
	default:
		q.Run = string(o.Status)
	}
	list = []api.RunInfo{}
	for {
		page, err := r.o.Sessions.List(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, m := range page.Sessions {
			info, err := r.info(ctx, m)
			if err != nil {
				return nil, "", err
			}
			if o.Status == "" || info.Status == o.Status {
				list = append(list, *info)
			}
		}
		if page.Next == "" || len(list) > 0 {
			return list, page.Next, nil
		}
		q.After = page.Next
	}
}

// Get describes a recorded or prepared run. For any other run, the error is RUN_NOT_FOUND.
func (r *Runs) Get(ctx context.Context, id string) (*api.RunInfo, error) {
	x := r.lookup(id)
	if x != nil && x.isPrepared() {
		return x.describePrepared(), nil
	}
	m, err := r.o.Sessions.Get(ctx, id)
	switch {
	case x != nil && x.begun() && (errors.Is(err, session.ErrNotFound) || err == nil && m.Run == ""):
		return x.describePrepared(), nil // the start of the run is being recorded
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrInvalidID):
		return nil, notFound(id)
	case err != nil:
		return nil, err
	case m.Run == "":
		return nil, notFound(id)
	}
	return r.info(ctx, m)
}

// ListActive lists the prepared and the active runs.
func (r *Runs) ListActive(ctx context.Context) ([]api.RunInfo, error) {
	r.mu.Lock()
	ids := make([]string, 0, len(r.live))
	for id := range r.live {
		ids = append(ids, id)
	}
	r.mu.Unlock()
	list := []api.RunInfo{}
	for _, id := range ids {
		info, err := r.Get(ctx, id)
		if e, ok := errors.AsType[*Error](err); ok && e.Code == wire.CodeRunNotFound {
			continue // the run is being prepared or has ended
		}
		if err != nil {
			return nil, err
		}
		list = append(list, *info)
	}
	return list, nil
}

// defaultAgent is the agent's name in a run with only one agent, if that agent has no name.
const defaultAgent = "agent"

// AgentName returns the agent name for records that have none: the name of the agent if the run has
// exactly one, otherwise "agent".
func (r *Runs) AgentName(ctx context.Context, id string) string {
	if x := r.lookup(id); x != nil && x.begun() {
		if name := soleAgent(x.strategy); name != "" {
			return name
		}
		return defaultAgent
	}
	m, err := r.o.Sessions.Get(ctx, id)
	if err != nil {
		return defaultAgent
	}
	if e, err := r.latestEvent(ctx, m); err == nil && e != nil && e.Strategy != nil && e.Strategy.SoleAgent != "" {
		return e.Strategy.SoleAgent
	}
	return defaultAgent
}

func (x *run) isPrepared() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == prepared
}

// strategyInfo returns a description of the run's strategy.
func (x *run) strategyInfo() wire.StrategyInfo {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.info
}

func (x *run) describePrepared() *api.RunInfo {
	of := x.strategyInfo()
	info := &api.RunInfo{
		RunID: x.id, SessionID: x.id, Status: api.StatusPending, StrategyName: of.Name, StrategyPath: of.Path,
		Agents: of.Agents, Cwd: of.Cwd, Workspace: of.Workspace, Mode: of.Mode,
	}
	if x.past != nil {
		info.Segment, info.StartedAt = x.past.segment, x.past.begun
	}
	return info
}

// info describes a run from its records and from its state in memory.
func (r *Runs) info(ctx context.Context, m session.Meta) (*api.RunInfo, error) {
	info := &api.RunInfo{
		RunID: m.ID, SessionID: m.ID, Status: api.RunStatus(m.Run), Cwd: m.CWD, LastSeq: m.Head, Approvals: m.OpenApprovals, StartedAt: m.CreatedAt,
	}
	info.Workspace, _, _ = workspace.OfProject(m.Project)
	if info.Status == api.StatusRunning {
		if x := r.lookup(m.ID); x != nil && x.begun() {
			return info, x.describeRunning(ctx, info)
		}
		lost, err := r.isLost(ctx, &m)
		if err != nil {
			return nil, err
		}
		info.Status, info.LastSeq, info.Approvals = api.RunStatus(m.Run), m.Head, m.OpenApprovals
		if lost {
			info.Status, info.Error = api.StatusInterrupted, &api.RunError{Code: string(wire.CodeInterrupted), Message: r.lostReason(m.ID)}
		}
	}
	e, err := r.latestEvent(ctx, m)
	if err != nil {
		return nil, err
	}
	if e != nil {
		info.Segment = e.Segment
		if s := e.Strategy; s != nil {
			info.StrategyName, info.StrategyPath, info.Agents, info.Mode = s.Name, s.Path, s.Agents, s.Mode
		}
		if e.StartedAt != nil {
			info.StartedAt = *e.StartedAt
		}
		if info.Status.Ended() {
			at := e.at
			info.CompletedAt = &at
			info.Result = e.Text
			if e.Code != "" {
				info.Error = &api.RunError{Code: string(e.Code), Message: e.Message}
			}
		}
	}
	if err := r.countApprovals(ctx, info); err != nil {
		return nil, err
	}
	info.Status = statusWith(info.Status, info.Approvals) // it may run in another daemon
	return info, nil
}

// RunStatus is the current status of a session's run and the number of its open approval requests.
type RunStatus struct {
	Status    api.RunStatus // "" for a session without a run
	Approvals int           // including those of its sub-agents
}

// StatusOf returns the status of a session's run. asking contains the result of
// [session.Sessions.OpenApprovals].
func (r *Runs) StatusOf(ctx context.Context, m session.Meta, asking map[string]int) (RunStatus, error) {
	s := RunStatus{api.RunStatus(m.Run), m.OpenApprovals + asking[m.ID]}
	if s.Status != api.StatusRunning {
		return s, nil
	}
	open := s.Approvals
	if x := r.lookup(m.ID); x != nil && x.begun() {
		open += x.openInputs()
	} else {
		lost, err := r.isLost(ctx, &m)
		switch {
		case err != nil:
			return s, err
		case lost:
			s.Status = api.StatusInterrupted
		default:
			s.Status = api.RunStatus(m.Run)
		}
	}
	s.Status = statusWith(s.Status, open)
	return s, nil
}

// statusWith returns the status of a run that has this number of open requests. A run whose
// recorded status is running may be waiting.
func statusWith(s api.RunStatus, open int) api.RunStatus {
	if s == api.StatusRunning && open > 0 {
		return api.StatusWaiting
	}
	return s
}

// countApprovals adds the open approval requests of the run's agents.
func (r *Runs) countApprovals(ctx context.Context, info *api.RunInfo) error {
	owned, err := r.o.Sessions.List(ctx, session.Query{Owner: info.RunID, Worktrees: true, WithApprovals: true})
	for _, o := range owned.Sessions {
		info.Approvals += o.OpenApprovals
	}
	return err
}

// describeRunning completes info with the state of a run in this process.
func (x *run) describeRunning(ctx context.Context, info *api.RunInfo) error {
	of := x.strategyInfo()
	info.StrategyName, info.StrategyPath, info.Agents, info.Cwd = of.Name, of.Path, of.Agents, of.Cwd
	info.Segment, info.Mode, info.Inputs = x.segment, of.Mode, x.waiting()
	x.mu.Lock()
	if !x.startedAt.IsZero() {
		info.StartedAt = x.startedAt
	}
	x.mu.Unlock()
	if members := x.existingAgents(); len(members) > 0 {
		info.Mode = string(members[0].agent.Mode())
	}
	if err := x.r.countApprovals(ctx, info); err != nil {
		return err
	}
	info.Status = statusWith(info.Status, info.Approvals+x.openInputs())
	return nil
}

// timedEvent is an event with the time of its record.
type timedEvent struct {
	wire.RunEvent
	at time.Time
}

// latestEvent finds the newest event that describes the run: the end of the run, or its start if it has
// not ended.
func (r *Runs) latestEvent(ctx context.Context, m session.Meta) (*timedEvent, error) {
	for rec, err := range r.o.Sessions.Effective(ctx, m.ID, session.Range{Reverse: true, After: m.ParentSeq}) {
		if errors.Is(err, session.ErrCorrupt) {
			continue // a damaged record does not hide the others
		}
		if err != nil {
			return nil, err
		}
		if rec.Kind != record.KindRunEvent || rec.Payload == nil {
			continue
		}
		var e wire.RunEvent
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			return nil, err
		}
		if e.Strategy == nil {
			continue
		}
		if e.Event == wire.RunStarted {
			e.StartedAt = &rec.Time
		}
		return &timedEvent{e, rec.Time}, nil
	}
	return nil, nil
}
