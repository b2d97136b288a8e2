package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// runStatuses are where a run can stand.
func runStatuses() []string {
	return append([]string{string(wire.Pending), string(wire.Waiting)}, recordedStatuses()...)
}

// recordedStatuses are those that a session's log can say: a pending run has none yet,
// and one that waits is running there.
func recordedStatuses() []string {
	return []string{string(wire.Running), string(wire.Completed), string(wire.Failed), string(wire.Cancelled), string(wire.Interrupted)}
}

func (a *api) runRoutes() []route {
	missing := []outcome.Outcome{outcome.NotFound}
	changes := append(missing, outcome.Conflict, outcome.Unavailable)
	act := func(name, id, doc string, body any, do func(c *call, id string) error) route {
		return route{
			method: http.MethodPost, path: "/v1/runs/{id}/" + name, id: id, tag: "runs", doc: doc,
			scope: auth.Run, body: body, answer: wire.RunInfo{}, problems: changes,
			serve: func(c *call) error { return a.act(c, do) },
			again: func(c *call, _ *kept) error { return a.tellRun(c, http.StatusOK, c.path("id")) },
		}
	}
	mode := act("mode", "setRunMode", "Changes the permission mode of a run that runs.", modeRequest{}, a.setMode)
	mode.scope = auth.Approve
	return []route{
		{
			method: http.MethodGet, path: "/v1/runs", id: "listRuns", tag: "runs", doc: "Runs, newest first.",
			scope: auth.Read, answer: listOf[wire.RunInfo]{}, serve: a.listRuns,
			query: paged(
				param{name: "status", doc: "only with this status", oneOf: runStatuses()},
				param{name: "cwd", doc: "only of this folder"},
			),
		},
		{
			method: http.MethodPost, path: "/v1/runs", id: "createRun", tag: "runs",
			doc: "Makes a run: of a strategy, or of a single agent. With input, or with start, it is started; a session that " +
				"has a run already goes on (200 then). A session_id that the client chose makes it safe to ask again.",
			scope: auth.Run, body: runRequest{}, status: http.StatusCreated, also: []int{http.StatusOK}, answer: wire.RunInfo{},
			problems: []outcome.Outcome{outcome.NotFound, outcome.Conflict, outcome.Unavailable, outcome.NotOffered}, serve: a.createRun,
			again: func(c *call, first *kept) error {
				return a.tellRun(c, first.status, strings.TrimPrefix(first.location(), "/v1/runs/"))
			},
		},
		{
			method: http.MethodGet, path: "/v1/runs/{id}", id: "getRun", tag: "runs", doc: "One run.",
			scope: auth.Read, answer: wire.RunInfo{}, problems: missing,
			serve: func(c *call) error { return a.tellRun(c, http.StatusOK, c.path("id")) },
		},
		act("start", "startRun", "Starts a run that is prepared.", inputRequest{}, a.start),
		act("continue", "continueRun", "Goes on with a run that has ended or was interrupted.", inputRequest{}, a.goOn),
		act("stop", "stopRun", "Cancels a run; it is on record when this answers.", nil, func(c *call, id string) error {
			return a.o.Runs.Stop(c.ctx(), id, "", c.actor())
		}),
		act("steer", "steerRun", "Gives a running run a text that its next model call is to heed.", textRequest{}, a.steer),
		act("input", "giveInput", "Answers a run that waits for input.", givenInput{}, a.input),
		mode,
	}
}

type runRequest struct {
	SessionID    string          `json:"session_id,omitempty" jsonschema:"of a session that is there, or for a new one"`
	Strategy     json.RawMessage `json:"strategy,omitempty" jsonschema:"a strategy as an object; docs/strategies.md"`
	StrategyPath string          `json:"strategy_path,omitempty" jsonschema:"or its file, on the daemon's machine"`
	Model        string          `json:"model,omitempty" jsonschema:"PROVIDER/MODEL; overrides the agents'"`
	Cwd          string          `json:"cwd,omitempty" jsonschema:"the folder to work in, absolute; needed for a new session"`
	Workspace    string          `json:"workspace,omitempty" jsonschema:"the workspace that a new session works in, instead of cwd"`
	Mode         string          `json:"mode,omitempty" jsonschema:"permission mode"`
	MaxBudgetUSD float64         `json:"max_budget_usd,omitempty" jsonschema:"bound of what the run may cost with all its agents, in US dollars; left out: the bound that it has; -1 lifts it"`
	Settings     string          `json:"settings,omitempty" jsonschema:"a settings file that applies to this run, absolute"`
	Title        string          `json:"title,omitempty"`
	Environ      []string        `json:"environ,omitempty" jsonschema:"entries NAME=VALUE, instead of the daemon's own; on the unix socket only"`
	Input        string          `json:"input,omitempty" jsonschema:"what to do"`
	Start        *bool           `json:"start,omitempty" jsonschema:"default: whether there is input"`
}

type inputRequest struct {
	Input string `json:"input,omitempty"`
}

type textRequest struct {
	Text string `json:"text"`
}

type givenInput struct {
	Agent   string `json:"agent"`
	InputID string `json:"input_id,omitempty" jsonschema:"of the request; the one that waits otherwise"`
	Text    string `json:"text"`
}

type modeRequest struct {
	Mode string `json:"mode"`
}

func (a *api) listRuns(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	list, next, err := a.o.Runs.List(c.ctx(), runs.ListOptions{
		Cwd: c.query["cwd"], Status: wire.Status(c.query["status"]), Limit: c.limit(defaultLimit), Cursor: after,
	})
	if err != nil {
		return err
	}
	return c.json(listOf[wire.RunInfo]{append([]wire.RunInfo{}, list...), c.cursor(next)})
}

func (a *api) tellRun(c *call, status int, id string) error {
	if err := session.CheckID(id); err != nil {
		return err
	}
	r, err := a.o.Runs.Get(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.jsonAs(status, r)
}

func (a *api) createRun(c *call) error {
	var q runRequest
	if err := c.into(&q); err != nil {
		return err
	}
	var err error
	if q.Cwd, err = a.o.folder(c.ctx(), q.Workspace, q.Cwd); err != nil {
		return err
	}
	o, err := q.options(c)
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
func (a *api) unprepared(c *call, id string, err error) error {
	if r, e := a.o.Runs.Get(c.ctx(), id); e == nil && !r.Status.Ended() {
		return &refusal{out: outcome.Conflict, detail: err.Error(), hint: "wait until it ends, or steer it: GET /v1/runs/" + id + ", holdfast sessions show " + id, err: err}
	}
	return err
}

// begun starts a run that was just prepared, or leaves nothing of it.
func (a *api) begun(c *call, p *runs.Prepared, input string, by runs.Actor) error {
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

// options checks a request, and says it as package runs wants it.
func (q *runRequest) options(c *call) (*runs.PrepareOptions, error) {
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
	s, err := q.strategy()
	if err != nil {
		return nil, &refusal{out: outcome.Usage, detail: err.Error(), err: err}
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

// strategy is what the request wants to run; nil is what the run on record has, or a
// single agent.
func (q *runRequest) strategy() (*strategy.Strategy, error) {
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

// act does something with the run of the path, and tells how it stands then.
func (a *api) act(c *call, do func(c *call, id string) error) error {
	id := c.path("id")
	if err := session.CheckID(id); err != nil {
		return err
	}
	if err := do(c, id); err != nil {
		return err
	}
	return a.tellRun(c, c.route.success(), id)
}

func (a *api) start(c *call, id string) error { return a.begin(c, id, a.o.Runs.Start) }
func (a *api) goOn(c *call, id string) error  { return a.begin(c, id, a.o.Runs.Continue) }

func (a *api) begin(c *call, id string, start func(ctx context.Context, id, input, requestID string, by runs.Actor) error) error {
	var q inputRequest
	if err := c.into(&q); err != nil {
		return err
	}
	if _, err := a.o.Runs.Get(c.ctx(), id); err != nil { // what is not there is 404, whatever a start says to it
		return err
	}
	return start(c.ctx(), id, q.Input, "", c.actor())
}

func (a *api) steer(c *call, id string) error {
	var q textRequest
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Text == "" {
		return refuse(outcome.Usage, "text is needed", "")
	}
	return a.o.Runs.Steer(c.ctx(), id, q.Text, "", c.actor())
}

func (a *api) input(c *call, id string) error {
	var q givenInput
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Agent == "" && q.InputID == "" {
		return refuse(outcome.Usage, "agent is needed", "inputs of the run names it")
	}
	return a.o.Runs.Input(c.ctx(), id, q.Agent, q.InputID, q.Text, c.actor())
}

func (a *api) setMode(c *call, id string) error {
	var q modeRequest
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
