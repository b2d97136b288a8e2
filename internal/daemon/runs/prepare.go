package runs

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// PrepareOptions describe a run. If Spec leaves fields empty, an interrupted run keeps its recorded
// values for them; an ended run keeps its folder, model, mode and budget.
type PrepareOptions struct {
	Run string // id of a recorded run or for a new run; if empty, Spec.Session names the id, or a new id is generated
	// If Strategy is nil, the run keeps its recorded strategy; a new run gets Default.
	Strategy *strategy.Strategy
	Default  *strategy.Strategy
	// Spec describes the run without its prompt and its strategy. The prompt is the input of
	// [Runs.Start]. If it names a workspace, its Cwd is the folder of the workspace's project.
	Spec    runspec.Spec
	Environ []string // replaces the daemon's environment; it is only kept in memory
	Actor   Actor

	same bool // an ended run keeps all recorded values, too
}

// Prepared is a run that can be started or continued.
type Prepared struct {
	Run      string
	Exists   bool // the run is recorded, so it can only be continued
	Strategy wire.StrategyInfo
	Status   api.RunStatus // of a recorded run; "" for a session without one
}

// Prepare prepares a run. Nothing is stored until the run is started. Errors are *Error with
// PREPARE_FAILED. They mean that something is missing or unknown, or that the run is already
// prepared or active.
func (r *Runs) Prepare(ctx context.Context, o PrepareOptions) (*Prepared, error) {
	x, err := r.prepare(ctx, o)
	if err != nil {
		return nil, withCode(wire.CodePrepareFailed, err)
	}
	p := &Prepared{Run: x.id, Exists: x.past != nil, Strategy: x.strategyInfo()}
	if x.past != nil {
		p.Status = x.past.status
	}
	return p, nil
}

// Running describes an active run. If the run is not active, it returns nil. Preparing an active
// run changes nothing, and the client can subscribe to it.
func (r *Runs) Running(id string) *Prepared {
	x := r.lookup(id)
	if x == nil || !x.running() {
		return nil
	}
	return &Prepared{Run: id, Exists: true, Strategy: x.strategyInfo(), Status: api.StatusRunning}
}

func (r *Runs) prepare(ctx context.Context, o PrepareOptions) (*run, error) {
	if err := r.chooseSession(ctx, &o); err != nil {
		return nil, err
	}
	if o.Run == "" {
		if o.Strategy = cmp.Or(o.Strategy, o.Default); o.Strategy == nil {
			return nil, errors.New("a run needs a strategy")
		}
		o.Run = "run_" + strings.ToLower(r.o.Sessions.NewID())
	} else if err := session.CheckID(o.Run); err != nil {
		return nil, err
	}
	r.waitEnded(ctx, o.Run)
	x := newRun(r, o.Run)
	if err := r.reserve(x); err != nil {
		return nil, err
	}
	if err := x.completeFromRecords(ctx, o); err != nil {
		x.dropPrepared()
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == endRecorded {
		return nil, refuse(wire.CodePrepareFailed, "Run %s was stopped", x.id)
	}
	x.state = prepared
	return x, nil
}

// reserve reserves the id for a run before any lookup: of two callers that prepare the same run, one
// fails.
func (r *Runs) reserve(x *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch there := r.live[x.id]; {
	case r.draining:
		return draining(wire.CodePrepareFailed)
	case there != nil && there.begun():
		return refuse(wire.CodePrepareFailed, "Run %s is already running", x.id)
	case there != nil:
		return refuse(wire.CodePrepareFailed, "Run %s is already prepared", x.id)
	case len(r.live) >= r.o.Limit+maxPrepared:
		return &Error{Code: wire.CodePrepareFailed, Message: "too many prepared runs", Tip: "start or stop some of them"}
	}
	r.live[x.id] = x
	return nil
}

// completeFromRecords completes a run from its records.
func (x *run) completeFromRecords(ctx context.Context, o PrepareOptions) (err error) {
	defer x.r.recoverPanic(x.id, &err)
	meta, err := x.r.o.Sessions.Get(ctx, x.id)
	if errors.Is(err, session.ErrNotFound) {
		o.Strategy = cmp.Or(o.Strategy, o.Default)
	}
	switch {
	case errors.Is(err, session.ErrNotFound) && o.Strategy == nil:
		return refuse(wire.CodePrepareFailed, "no run %s to continue, and no strategy to start", x.id)
	case errors.Is(err, session.ErrNotFound):
	case err != nil:
		return err
	case meta.Owner != "":
		return refuse(wire.CodePrepareFailed, "session %s belongs to run %s: continue that run", x.id, meta.Owner)
	default:
		if x.past, err = x.r.readHistory(ctx, x.id); err != nil {
			return err
		}
		if err := x.inherit(&o, meta); err != nil {
			return err
		}
		if err := x.checkWorkspace(&o, meta); err != nil {
			return err
		}
	}
	s := &o.Spec
	switch alone := soleAgent(o.Strategy) != ""; {
	case s.Workspace != "" && !alone:
		return refuse(wire.CodePrepareFailed, "a workspace is for a single agent, but strategy %s has several", o.Strategy.Name)
	case s.Worktree.Enabled && !alone:
		return refuse(wire.CodePrepareFailed, "a worktree is for a single agent, but strategy %s has several", o.Strategy.Name)
	case s.Session.ForkAt != "" && !alone:
		return refuse(wire.CodePrepareFailed, "session.at is for a single agent, but strategy %s has several", o.Strategy.Name)
	case s.Cwd == "":
		return refuse(wire.CodePrepareFailed, "a run needs a working folder: set cwd")
	}
	if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() || !filepath.IsAbs(s.Cwd) {
		return refuse(wire.CodePrepareFailed, "cwd: no folder %s", s.Cwd)
	}
	if x.r.o.Mask != nil {
		if x.mask, err = x.r.o.Mask(ctx, s.Cwd, s.Permissions.Settings); err != nil {
			return err
		}
	}
	if err := x.maskSpec(s); err != nil {
		return err
	}
	if o.Environ != nil {
		s.Environment.Variables = variableNames(o.Environ)
	}
	x.opt, x.strategy = o, o.Strategy
	x.info = wire.StrategyInfo{
		Name: o.Strategy.Name, Path: o.Strategy.Path, Agents: []string{}, SoleAgent: soleAgent(o.Strategy), Flow: o.Strategy.Flow.Tree(),
		Source: o.Strategy.Source, Cwd: s.Cwd, Workspace: s.Workspace, Model: s.Model, Mode: s.Permissions.Mode,
		MaxBudgetUSD: s.Limits.MaxBudgetUSD,
	}
	for _, a := range o.Strategy.Agents {
		x.info.Agents = append(x.info.Agents, a.Name)
	}
	return nil
}

// inherit copies from the recorded run the values that o leaves empty.
func (x *run) inherit(o *PrepareOptions, meta session.Meta) error {
	s := &o.Spec
	s.Cwd = cmp.Or(s.Cwd, meta.CWD)
	old := x.past.started
	if old == nil || old.Strategy == nil { // a session without a daemon run
		if o.Strategy == nil {
			o.Strategy = strategy.Single(strategy.Agent{Name: defaultAgent, Type: strategy.LLM})
		}
		if soleAgent(o.Strategy) == "" {
			return refuse(wire.CodePrepareFailed, "session %s belongs to a single agent; start a new run for a strategy with several agents", x.id)
		}
		return nil
	}
	was := old.Strategy
	recorded := x.past.spec()
	before, err := strategy.Parse("the strategy of run "+x.id, was.Source)
	if err != nil {
		return err
	}
	before.Path = was.Path
	if o.Strategy == nil {
		o.Strategy = before
	}
	if soleAgent(o.Strategy) != "" { // the run's session has the budget
		recorded.Limits.MaxBudgetUSD = 0
	}
	if !x.past.forked && (x.past.status == api.StatusInterrupted || o.same) {
		*s = s.Merge(recorded)
	} else {
		s.Cwd, s.Model, s.Permissions.Mode = cmp.Or(s.Cwd, recorded.Cwd), cmp.Or(s.Model, recorded.Model), cmp.Or(s.Permissions.Mode, recorded.Permissions.Mode)
		s.Limits.MaxBudgetUSD = cmp.Or(s.Limits.MaxBudgetUSD, recorded.Limits.MaxBudgetUSD)
	}
	if (soleAgent(before) == "") != (soleAgent(o.Strategy) == "") {
		return refuse(wire.CodePrepareFailed, "run %s cannot continue with this strategy: a single agent uses the run's session, but several agents have separate ones", x.id)
	}
	return nil
}

// modeOf returns the mode for the spec with which the run continues: the mode in which the run was
// started. It returns "" if the run's agents restore a newer recorded mode, and for a fork, which
// does not inherit the mode.
func (p *runHistory) modeOf(started string) string {
	later := p.mode != "" && p.mode != policy.ModePlan && p.mode != policy.ModeBypass
	if p.forked || later && string(p.mode) != started {
		return ""
	}
	return started
}

// checkWorkspace keeps a session in its workspace: a session that began in a container never
// continues outside of it.
func (x *run) checkWorkspace(o *PrepareOptions, meta session.Meta) error {
	x.project = meta.Project
	slug, _, inside := workspace.OfProject(meta.Project)
	switch {
	case inside && o.Spec.Workspace != "" && o.Spec.Workspace != slug:
		return refuse(wire.CodePrepareFailed, "session %s belongs to workspace %s, not to %s", x.id, slug, o.Spec.Workspace)
	case !inside && o.Spec.Workspace != "":
		return refuse(wire.CodePrepareFailed, "session %s does not belong to workspace %s", x.id, o.Spec.Workspace)
	}
	o.Spec.Workspace = slug
	return nil
}

// soleAgent returns the name of the only agent with a session in a strategy, or "".
func soleAgent(s *strategy.Strategy) string {
	worker := func(a strategy.Agent) bool { return a.Type != strategy.User }
	i := slices.IndexFunc(s.Agents, worker)
	if i < 0 || slices.ContainsFunc(s.Agents[i+1:], worker) {
		return ""
	}
	return s.Agents[i].Name
}
