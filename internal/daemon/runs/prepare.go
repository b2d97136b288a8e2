package runs

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/workspace"
)

// PrepareOptions describe a run. What is left out of a run that is on record is as it
// was.
type PrepareOptions struct {
	Run      string             // id of a run on record, or for a new one; "" makes one
	Strategy *strategy.Strategy // nil: that of the run on record; a new one needs it
	Model    string             // overrides that of the agents
	Cwd      string             // absolute
	// Workspace is the slug of the workspace that a new session belongs to, whose project
	// is Cwd. A session that is there stays in its own, or out of any.
	Workspace string
	Settings  string // a file with more settings
	Mode      string // permission mode
	// MaxBudgetUSD bounds what the run may cost, with all its agents: 0 leaves the bound that
	// it has, and less lifts it.
	MaxBudgetUSD float64
	Title        string   // of a new session
	Environ      []string // instead of the daemon's own; in memory only
	By           Actor
}

// Prepared is a run that can be started or continued.
type Prepared struct {
	Run      string
	Again    bool // it is on record: continue it
	Strategy wire.StrategyInfo
	Status   wire.Status // of a run on record; "" of a session that had none
}

// Prepare makes a run ready. Nothing is kept of it until it is started. Errors are
// *Error with PREPARE_FAILED: what is missing or unknown, an id that somebody has
// prepared or that runs already.
func (r *Runs) Prepare(ctx context.Context, o PrepareOptions) (*Prepared, error) {
	r.settle(ctx, o.Run)
	x, err := r.prepare(ctx, o)
	if err != nil {
		return nil, fail(wire.CodePrepareFailed, err)
	}
	p := &Prepared{Run: x.id, Again: x.past != nil, Strategy: x.described()}
	if x.past != nil {
		p.Status = x.past.status
	}
	return p, nil
}

// Running describes a run that runs as it is; nil when it does not. Whoever prepares it can
// follow it, and changes nothing about it.
func (r *Runs) Running(id string) *Prepared {
	x := r.lookup(id)
	if x == nil || !x.running() {
		return nil
	}
	return &Prepared{Run: id, Again: true, Strategy: x.described(), Status: wire.Running}
}

func (r *Runs) prepare(ctx context.Context, o PrepareOptions) (*run, error) {
	if o.Run == "" {
		if o.Strategy == nil {
			return nil, errors.New("a run needs a strategy")
		}
		o.Run = "run_" + strings.ToLower(r.o.Sessions.NewID())
	} else if err := session.CheckID(o.Run); err != nil {
		return nil, err
	}
	x := newRun(r, o.Run)
	if err := r.claim(x); err != nil {
		return nil, err
	}
	if err := x.describe(ctx, o); err != nil {
		x.drop()
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == over {
		return nil, refuse(wire.CodePrepareFailed, "Run %s was stopped", x.id)
	}
	x.state = prepared
	return x, nil
}

// claim takes an id for a run, before anything is looked up: of two who prepare the
// same one, one fails.
func (r *Runs) claim(x *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch there := r.live[x.id]; {
	case r.draining:
		return draining(wire.CodePrepareFailed)
	case there != nil && there.begun():
		return refuse(wire.CodePrepareFailed, "Run %s is running already", x.id)
	case there != nil:
		return refuse(wire.CodePrepareFailed, "Run %s is prepared already", x.id)
	case len(r.live) >= r.o.Limit+maxPrepared:
		return &Error{Code: wire.CodePrepareFailed, Message: "too many runs are prepared", Tip: "start them, or stop them"}
	}
	r.live[x.id] = x
	return nil
}

// describe completes a run by what is on record.
func (x *run) describe(ctx context.Context, o PrepareOptions) (err error) {
	defer x.r.caught(x.id, &err)
	meta, err := x.r.o.Sessions.Get(ctx, x.id)
	switch {
	case errors.Is(err, session.ErrNotFound) && o.Strategy == nil:
		return refuse(wire.CodePrepareFailed, "there is no run %s to continue, and no strategy to start", x.id)
	case errors.Is(err, session.ErrNotFound):
	case err != nil:
		return err
	case meta.Owner != "":
		return refuse(wire.CodePrepareFailed, "session %s works for run %s: continue that", x.id, meta.Owner)
	default:
		if x.past, err = x.r.fold(ctx, x.id); err != nil {
			return err
		}
		if err := x.inherit(&o, meta); err != nil {
			return err
		}
		if err := x.stay(&o, meta); err != nil {
			return err
		}
	}
	if o.Workspace != "" && sole(o.Strategy) == "" {
		return refuse(wire.CodePrepareFailed, "one agent works in a workspace, and strategy %s has several", o.Strategy.Name)
	}
	if o.Cwd == "" {
		return refuse(wire.CodePrepareFailed, "a run needs a folder: cwd")
	}
	if info, err := os.Stat(o.Cwd); err != nil || !info.IsDir() || !filepath.IsAbs(o.Cwd) {
		return refuse(wire.CodePrepareFailed, "cwd: there is no folder %s", o.Cwd)
	}
	if x.r.o.Mask != nil {
		if x.mask, err = x.r.o.Mask(ctx, o.Cwd, o.Settings); err != nil {
			return err
		}
	}
	o.Title, _ = x.mask.Text(o.Title)
	x.opt, x.strategy = o, o.Strategy
	x.info = wire.StrategyInfo{
		Name: o.Strategy.Name, Path: o.Strategy.Path, Agents: []string{}, Sole: sole(o.Strategy), Flow: o.Strategy.Flow.Tree(),
		Source: o.Strategy.Source, Cwd: o.Cwd, Workspace: o.Workspace, Model: o.Model, Mode: o.Mode,
		MaxBudgetUSD: o.MaxBudgetUSD,
	}
	for _, a := range o.Strategy.Agents {
		x.info.Agents = append(x.info.Agents, a.Name)
	}
	return nil
}

// inherit takes over from a run on record what o does not say.
func (x *run) inherit(o *PrepareOptions, meta session.Meta) error {
	o.Cwd = cmp.Or(o.Cwd, meta.CWD)
	old := x.past.started
	if old == nil || old.Strategy == nil { // a session that no daemon has run
		if o.Strategy == nil {
			o.Strategy = strategy.Single(strategy.Agent{Name: defaultAgent, Type: strategy.LLM})
		}
		if sole(o.Strategy) == "" {
			return refuse(wire.CodePrepareFailed, "session %s is that of one agent: a strategy with several needs a run of its own", x.id)
		}
		return nil
	}
	was := old.Strategy
	o.Cwd, o.Model, o.Mode = cmp.Or(o.Cwd, was.Cwd), cmp.Or(o.Model, was.Model), cmp.Or(o.Mode, x.past.modeOf(was.Mode))
	before, err := strategy.Parse("the strategy of run "+x.id, was.Source)
	if err != nil {
		return err
	}
	before.Path = was.Path
	if o.Strategy == nil {
		o.Strategy = before
	}
	if sole(o.Strategy) == "" { // of one agent its session has the bound
		o.MaxBudgetUSD = cmp.Or(o.MaxBudgetUSD, was.MaxBudgetUSD)
	}
	if (sole(before) == "") != (sole(o.Strategy) == "") {
		return refuse(wire.CodePrepareFailed, "run %s cannot go on with a strategy of another kind: one agent works in the run's session, several have their own", x.id)
	}
	return nil
}

// modeOf is the mode that a run goes on in which was started in one: that one, unless another
// is on record since, which its agents find; nor is it a fork's.
func (p *past) modeOf(started string) string {
	later := p.mode != "" && p.mode != policy.ModePlan && p.mode != policy.ModeBypass
	if p.forked || later && string(p.mode) != started {
		return ""
	}
	return started
}

// stay keeps a session in its workspace: what began in a container never goes on
// outside of it.
func (x *run) stay(o *PrepareOptions, meta session.Meta) error {
	x.project = meta.Project
	slug, _, inside := workspace.OfProject(meta.Project)
	switch {
	case inside && o.Workspace != "" && o.Workspace != slug:
		return refuse(wire.CodePrepareFailed, "session %s works in workspace %s, not in %s", x.id, slug, o.Workspace)
	case !inside && o.Workspace != "":
		return refuse(wire.CodePrepareFailed, "session %s is not one of workspace %s", x.id, o.Workspace)
	}
	o.Workspace = slug
	return nil
}

// sole is the name of the one agent with a session that a strategy has, or "".
func sole(s *strategy.Strategy) string {
	worker := func(a strategy.Agent) bool { return a.Type != strategy.User }
	i := slices.IndexFunc(s.Agents, worker)
	if i < 0 || slices.ContainsFunc(s.Agents[i+1:], worker) {
		return ""
	}
	return s.Agents[i].Name
}
