package daemon

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *service) runHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"listRuns":    a.listRuns,
		"createRun":   a.createRun,
		"getRun":      func(c *call) error { return a.tellRun(c, http.StatusOK, c.path("id")) },
		"startRun":    a.act(a.start),
		"continueRun": a.act(a.goOn),
		"stopRun":     a.act(func(c *call, id string) error { return a.o.Runs.Stop(c.ctx(), id, "", c.actor()) }),
		"steerRun":    a.act(a.steer),
		"giveInput":   a.act(a.input),
		"setRunMode":  a.act(a.setMode),
	}
}

func (a *service) listRuns(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	list, next, err := a.o.Runs.List(c.ctx(), runs.ListOptions{
		Cwd: c.query["cwd"], Status: wire.Status(c.query["status"]), Limit: c.limit(), Cursor: after,
	})
	if err != nil {
		return err
	}
	return c.json(api.Page[wire.RunInfo]{Items: append([]wire.RunInfo{}, list...), Next: c.cursor(next)})
}

func (a *service) tellRun(c *call, status int, id string) error {
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
	var err error
	if q.Cwd, err = a.o.folder(c.ctx(), q.Workspace, q.Cwd); err != nil {
		return err
	}
	o, err := runOptions(c, &q)
	if err != nil {
		return err
	}
	o.Title = a.redact(o.Title)
	if o.Strategy == nil {
		if _, err := a.o.Sessions.Get(c.ctx(), o.Run); o.Run == "" || errors.Is(err, session.ErrNotFound) {
			o.Strategy = strategy.Single(strategy.Agent{Name: "agent", Type: strategy.LLM})
		}
	}
	p, err := a.o.Runs.Prepare(c.ctx(), *o)
	if err != nil {
		return a.unprepared(c, o.Run, err)
	}
	if q.Start == nil && q.Input != "" || q.Start != nil && *q.Start {
		if err := a.begun(c, p, q.Input, o.By); err != nil {
			return err
		}
	}
	status := http.StatusCreated
	if p.Again {
		status = http.StatusOK
	}
	c.header("Location", "/v1/runs/"+p.Run)
	return a.tellRun(c, status, p.Run)
}

// unprepared says whether what kept a run from being prepared is the run itself.
func (a *service) unprepared(c *call, id string, err error) error {
	if r, e := a.o.Runs.Get(c.ctx(), id); e == nil && !r.Status.Ended() {
		return caused(outcome.Conflict, "wait until it ends, or steer it: GET /v1/runs/"+id+", holdfast sessions show "+id, err)
	}
	return err
}

// begun starts a run that was just prepared, or leaves nothing of it.
func (a *service) begun(c *call, p *runs.Prepared, input string, by runs.Actor) error {
	start := a.o.Runs.Start
	if p.Again {
		start = a.o.Runs.Continue
	}
	err := start(c.ctx(), p.Run, input, "", by)
	if err == nil {
		return nil
	}
	if r, e := a.o.Runs.Get(c.ctx(), p.Run); e == nil && r.Status == wire.Pending {
		if e := a.o.Runs.Stop(c.ctx(), p.Run, "", by); e != nil {
			a.log.WarnContext(c.ctx(), "a run that did not start stays prepared", "run", p.Run, "error", e)
		}
	}
	return err
}

// runOptions checks a request for a new run, and makes the options of package runs from it.
func runOptions(c *call, q *api.NewRun) (*runs.PrepareOptions, error) {
	if q.SessionID != "" {
		if err := session.CheckID(q.SessionID); err != nil {
			return nil, err
		}
	}
	for _, p := range []struct{ name, path string }{{"cwd", q.Cwd}, {"settings", q.Settings}} {
		if p.path != "" && !filepath.IsAbs(p.path) {
			return nil, refuse(outcome.Usage, p.name+" is "+strconv.Quote(p.path)+", and must be absolute", "")
		}
	}
	switch {
	case q.Cwd == "" && q.SessionID == "":
		return nil, refuse(outcome.Usage, "cwd is needed for a new run", "an absolute folder on the daemon's machine")
	case q.Environ != nil && c.caller.Via != "unix":
		return nil, refuse(outcome.Forbidden, "environ is for clients on the unix socket", "leave environ out: the daemon's own is used")
	case len(q.Strategy) > 0 && q.StrategyPath != "":
		return nil, refuse(outcome.Usage, "strategy and strategy_path exclude each other", "")
	}
	for _, line := range q.Environ {
		if name, _, ok := strings.Cut(line, "="); !ok || name == "" || strings.ContainsRune(line, 0) {
			return nil, refuse(outcome.Usage, "environ has an entry that is not NAME=VALUE", "")
		}
	}
	if q.Mode != "" {
		if _, err := parseMode(q.Mode); err != nil {
			return nil, err
		}
	}
	if err := checkBudget(q.MaxBudgetUSD); err != nil {
		return nil, err
	}
	if err := mayMake(c.caller, q.Mode, q.Settings); err != nil {
		return nil, err
	}
	s, err := namedStrategy(q)
	if err != nil {
		return nil, caused(outcome.Usage, "", err)
	}
	return &runs.PrepareOptions{
		Run: q.SessionID, Strategy: s, Model: q.Model, Cwd: q.Cwd, Workspace: q.Workspace, Settings: q.Settings, Mode: q.Mode, Title: q.Title,
		MaxBudgetUSD: q.MaxBudgetUSD, Environ: q.Environ, By: c.actor(),
	}, nil
}

// checkBudget reads a bound: of JSON, which has no infinity, -1 lifts it.
func checkBudget(usd float64) error {
	if usd < 0 && usd != -1 {
		return refuse(outcome.Usage, "max_budget_usd must not be negative", "-1 lifts the bound that the run has")
	}
	return nil
}

// namedStrategy is the strategy that a request names; nil is that of the run on record, or a
// single agent.
func namedStrategy(q *api.NewRun) (*strategy.Strategy, error) {
	switch {
	case len(q.Strategy) > 0:
		return strategy.Parse("strategy.json", q.Strategy)
	case q.StrategyPath != "":
		path := q.StrategyPath
		if !filepath.IsAbs(path) {
			path = filepath.Join(q.Cwd, path)
		}
		if !filepath.IsAbs(path) {
			return nil, refuse(outcome.Usage, "strategy_path is "+strconv.Quote(path)+", and must be absolute where there is no cwd", "")
		}
		return strategy.Load(path)
	}
	return nil, nil
}

// act serves a request that does something with the run of the path, and answers with the run
// as it is then.
func (a *service) act(do func(c *call, id string) error) func(*call) error {
	return func(c *call) error {
		id := c.path("id")
		if err := session.CheckID(id); err != nil {
			return err
		}
		if err := do(c, id); err != nil {
			return err
		}
		return a.tellRun(c, c.route.Success(), id)
	}
}

func (a *service) start(c *call, id string) error { return a.begin(c, id, a.o.Runs.Start) }
func (a *service) goOn(c *call, id string) error  { return a.begin(c, id, a.o.Runs.Continue) }

func (a *service) begin(c *call, id string, start func(ctx context.Context, id, input, requestID string, by runs.Actor) error) error {
	var q api.RunInput
	if err := c.into(&q); err != nil {
		return err
	}
	if _, err := a.o.Runs.Get(c.ctx(), id); err != nil { // what is not there is 404, whatever a start says to it
		return err
	}
	return start(c.ctx(), id, q.Input, "", c.actor())
}

func (a *service) steer(c *call, id string) error {
	var q api.Steer
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Text == "" {
		return refuse(outcome.Usage, "text is needed", "")
	}
	return a.o.Runs.Steer(c.ctx(), id, q.Text, "", c.actor())
}

func (a *service) input(c *call, id string) error {
	var q api.AgentInput
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Agent == "" && q.InputID == "" {
		return refuse(outcome.Usage, "agent is needed", "inputs of the run names it")
	}
	return a.o.Runs.Input(c.ctx(), id, q.Agent, q.InputID, q.Text, c.actor())
}

func (a *service) setMode(c *call, id string) error {
	var q api.ModeChange
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
