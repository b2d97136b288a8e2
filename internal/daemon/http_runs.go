package daemon

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (a *service) runHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"listRuns":         a.listRuns,
		"createRun":        a.createRun,
		"getRun":           func(c *call) error { return a.writeRun(c, http.StatusOK, c.path("id")) },
		"startRun":         a.runAction(a.start),
		"continueRun":      a.runAction(a.continueRun),
		"stopRun":          a.runAction(a.stopRun),
		"steerRun":         a.steer,
		"withdrawSteering": a.withdrawSteering,
		"giveInput":        a.runAction(a.input),
		"setRunMode":       a.runAction(a.setMode),
	}
}

func (a *service) listRuns(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	list, next, err := a.o.Runs.List(c.ctx(), runs.ListOptions{
		Cwd: c.query["cwd"], Status: api.RunStatus(c.query["status"]), Limit: c.limit(), Cursor: after,
	})
	if err != nil {
		return err
	}
	return c.json(api.Page[api.RunInfo]{Items: append([]api.RunInfo{}, list...), Next: c.cursor(next)})
}

func (a *service) writeRun(c *call, status int, id string) error {
	if err := session.CheckID(id); err != nil {
		return err
	}
	r, err := a.o.Runs.Get(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.jsonAs(status, r)
}

func (a *service) createRun(c *call) error {
	var q api.NewRun
	if err := c.into(&q); err != nil {
		return err
	}
	spec := q.FullSpec()
	o, err := a.runOptions(c, &q, spec)
	if err != nil {
		return err
	}
	p, err := a.o.Runs.Prepare(c.ctx(), *o)
	if err != nil {
		return a.prepareError(c, o.Spec.Session.ID, err)
	}
	if q.Start == nil && (spec.Prompt != "" || len(spec.Images) > 0) || q.Start != nil && *q.Start {
		if err := a.startOrDrop(c, p, &spec, o.Actor); err != nil {
			return err
		}
	}
	status := http.StatusCreated
	if p.Exists {
		status = http.StatusOK
	}
	c.header("Location", "/v1/runs/"+p.Run)
	return a.writeRun(c, status, p.Run)
}

// prepareError returns a conflict if the run could not be prepared because it is running. Otherwise
// it returns err.
func (a *service) prepareError(c *call, id string, err error) error {
	if r, e := a.o.Runs.Get(c.ctx(), id); e == nil && !r.Status.Ended() {
		return wrapProblem(outcome.Conflict, "wait until it ends, or steer it; see GET /v1/runs/"+id+", holdfast sessions show "+id, err)
	}
	return err
}

// startOrDrop starts a run that was just prepared. If that fails, it discards the run.
func (a *service) startOrDrop(c *call, p *runs.Prepared, spec *runspec.Spec, by runs.Actor) error {
	start := a.o.Runs.Start
	if p.Exists {
		start = a.o.Runs.Continue
	}
	err := start(c.ctx(), p.Run, spec.Prompt, "", by, spec.Images...)
	if err == nil {
		return nil
	}
	if r, e := a.o.Runs.Get(c.ctx(), p.Run); e == nil && r.Status == api.StatusPending {
		if e := a.o.Runs.Stop(c.ctx(), p.Run, "", by); e != nil {
			a.log.WarnContext(c.ctx(), "a run that did not start could not be discarded", "run", p.Run, "error", e)
		}
	}
	return err
}

// runOptions validates a request for a run and converts it to options of package runs.
func (a *service) runOptions(c *call, q *api.NewRun, spec runspec.Spec) (*runs.PrepareOptions, error) {
	switch s := &spec.Session; {
	case len(spec.Images) > 0 && q.Start != nil && !*q.Start:
		return nil, refuse(outcome.Usage, "images are sent with the request that starts the run", "POST /v1/runs/{id}/start")
	case spec.Cwd == "" && spec.Workspace == "" && s.ID == "" && s.Resume == "":
		return nil, refuse(outcome.Usage, "a new run needs cwd", "set cwd to an absolute folder on the daemon's machine")
	case q.Environ != nil && c.caller.Method != "unix":
		return nil, refuse(outcome.Forbidden, "environ is only allowed on the unix socket", "omit environ to use the daemon's environment")
	}
	for _, line := range q.Environ {
		if name, _, ok := strings.Cut(line, "="); !ok || name == "" || strings.ContainsRune(line, 0) {
			return nil, refuse(outcome.Usage, "environ has an entry that is not NAME=VALUE", "")
		}
	}
	o, err := a.o.prepareOptions(c.ctx(), c.caller, spec)
	if err != nil {
		return nil, err
	}
	o.Default, o.Environ, o.Actor = strategy.Single(strategy.Agent{Name: "agent", Type: strategy.LLM}), q.Environ, c.actor()
	o.Spec.Session.Title = a.redact(o.Spec.Session.Title)
	return o, nil
}

// prepareOptions converts a spec that the caller may run to options of package runs.
func (o *Options) prepareOptions(ctx context.Context, caller auth.Caller, spec runspec.Spec) (*runs.PrepareOptions, error) {
	var err error
	if spec.Cwd, err = o.folder(ctx, spec.Workspace, spec.Cwd); err != nil {
		return nil, err
	}
	if spec.StrategyPath != "" && !filepath.IsAbs(spec.StrategyPath) { // the path may be relative to the run's working folder
		if spec.Cwd == "" {
			return nil, refuse(outcome.Usage, "strategy_path must be absolute without cwd, not "+strconv.Quote(spec.StrategyPath), "")
		}
		spec.StrategyPath = filepath.Join(spec.Cwd, spec.StrategyPath)
	}
	if err := spec.Check(); err != nil {
		return nil, wrapProblem(outcome.Usage, outcome.Hint(err), err)
	}
	if err := checkRunPermission(caller, &spec); err != nil {
		return nil, err
	}
	s, err := namedStrategy(&spec)
	if err != nil {
		return nil, wrapProblem(outcome.Usage, "", err)
	}
	spec.Prompt, spec.Images, spec.Strategy, spec.StrategyPath = "", nil, nil, ""
	return &runs.PrepareOptions{Strategy: s, Spec: spec}, nil
}

// namedStrategy returns the strategy in a spec. It returns nil if the run keeps its recorded
// strategy or has only one agent.
func namedStrategy(s *runspec.Spec) (*strategy.Strategy, error) {
	switch {
	case len(s.Strategy) > 0:
		return strategy.Parse("strategy.json", s.Strategy)
	case s.StrategyPath != "":
		return strategy.Load(s.StrategyPath)
	}
	return nil, nil
}

// runAction returns a handler that applies an action to the run in the path. It answers with the run
// after the action.
func (a *service) runAction(do func(c *call, id string) error) func(*call) error {
	return func(c *call) error {
		id := c.path("id")
		if err := session.CheckID(id); err != nil {
			return err
		}
		if err := do(c, id); err != nil {
			return err
		}
		return a.writeRun(c, c.route.Success(), id)
	}
}

func (a *service) start(c *call, id string) error       { return a.begin(c, id, a.o.Runs.Start) }
func (a *service) continueRun(c *call, id string) error { return a.begin(c, id, a.o.Runs.Continue) }

func (a *service) begin(c *call, id string, start func(ctx context.Context, id, input, requestID string, by runs.Actor, images ...transcript.Media) error) error {
	var q routes.RunInput
	if err := c.into(&q); err != nil {
		return err
	}
	if _, err := a.o.Runs.Get(c.ctx(), id); err != nil { // the status for a missing run is always 404
		return err
	}
	return start(c.ctx(), id, q.Input, "", c.actor(), q.Images...)
}

func (a *service) steer(c *call) error {
	id := c.path("id")
	if err := session.CheckID(id); err != nil {
		return err
	}
	var q routes.Steer
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Text == "" && len(q.Images) == 0 {
		return refuse(outcome.Usage, "text is required", "")
	}
	var steering string
	var err error
	if q.Agent != "" {
		err = a.o.Runs.SteerSubagent(c.ctx(), id, q.Agent, q.Text, "", c.actor(), q.Images...)
	} else {
		steering, err = a.o.Runs.Steer(c.ctx(), id, q.Text, "", c.actor(), q.Images...)
	}
	if err != nil {
		return err
	}
	r, err := a.o.Runs.Get(c.ctx(), id)
	if err != nil { // the text is recorded: an error would make the client send it again
		r = &api.RunInfo{RunID: id, SessionID: id}
	}
	r.SteeringID = steering
	return c.jsonAs(c.route.Success(), r)
}

func (a *service) stopRun(c *call, id string) error {
	var q routes.Stop
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Agent != "" {
		return a.o.Runs.StopSubagent(c.ctx(), id, q.Agent, "", c.actor())
	}
	return a.o.Runs.Stop(c.ctx(), id, "", c.actor())
}

func (a *service) withdrawSteering(c *call) error {
	id := c.path("id")
	if err := session.CheckID(id); err != nil {
		return err
	}
	if err := a.o.Runs.Withdraw(c.ctx(), id, c.path("steering"), c.actor()); err != nil {
		return err
	}
	return c.noContent()
}

func (a *service) input(c *call, id string) error {
	var q routes.AgentInput
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Agent == "" && q.InputID == "" {
		return refuse(outcome.Usage, "agent is required", "the run's field inputs names it")
	}
	return a.o.Runs.Input(c.ctx(), id, q.Agent, q.InputID, q.Text, c.actor())
}

func (a *service) setMode(c *call, id string) error {
	var q routes.ModeChange
	if err := c.into(&q); err != nil {
		return err
	}
	mode, err := parseMode(q.Mode)
	if err != nil {
		return err
	}
	by := c.actor()
	_, err = a.o.Runs.Change(c.ctx(), id, policy.Change{Mode: mode, By: by.Name}, by)
	return err
}
