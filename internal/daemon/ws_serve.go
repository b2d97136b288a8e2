package daemon

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// via is recorded as the interface that WebSocket clients use.
const via = "websocket"

func (c *socket) actor() runs.Actor { return runs.Actor{Name: c.caller.Name, Via: via} }

// serveRequest serves one request. Its changes stay if the client disconnects meanwhile.
func (c *socket) serveRequest(req wire.Request) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.ctx), c.s.limits.request)
	defer stop()
	if c.s.draining.Load() && startsWork(req) {
		c.reply(errorFor(req, wire.CodeDraining, "the daemon is shutting down and starts no runs", "try again when it runs again"))
		return
	}
	engine := c.s.o.Runs
	switch r := req.(type) {
	case *wire.PrepareRun:
		c.prepare(ctx, r)
	case *wire.StartRun:
		c.replyStarted(req, engine.Start(ctx, r.RunID, r.Input, r.RequestID, c.actor(), r.Images...))
	case *wire.ContinueRun:
		c.replyStarted(req, engine.Continue(ctx, r.RunID, r.Input, r.RequestID, c.actor(), r.Images...))
	case *wire.StopRun:
		c.stopRun(ctx, r)
	case *wire.UserInput:
		c.fail(req, engine.Input(ctx, r.RunID, r.AgentName, r.InputRequestID, r.Text, c.actor()))
	case *wire.SteerRun:
		if r.AgentSession != "" {
			c.fail(req, engine.SteerSubagent(ctx, r.RunID, r.AgentSession, r.Text, r.RequestID, c.actor(), r.Images...))
			return
		}
		_, err := engine.Steer(ctx, r.RunID, r.Text, r.RequestID, c.actor(), r.Images...)
		c.fail(req, err)
	case *wire.PermissionDecision:
		c.decide(ctx, r)
	case *wire.UpdatePolicy:
		patch := policy.Patch{Tool: r.Tool, Mode: r.Mode, Allow: r.Allow, Deny: r.Deny, Default: policy.Effect(r.Default)}
		c.changePolicy(ctx, req, policy.Change{Patch: &patch, IfVersion: r.IfVersion})
	case *wire.SetMode:
		c.changePolicy(ctx, req, policy.Change{Mode: policy.Mode(r.Mode)})
	case *wire.Subscribe:
		c.subscribe(r)
	case *wire.Unsubscribe:
		c.unsubscribe(r.RunID)
		c.reply(replyTo(req, &wire.Unsubscribed{RunID: r.RunID}))
	case *wire.ListRuns:
		list, next, err := engine.List(ctx, runs.ListOptions{Cwd: r.Cwd, Status: api.RunStatus(r.Status), Limit: r.Limit, Cursor: r.Cursor})
		c.answerOr(req, &wire.RunList{Runs: list, NextCursor: next}, err)
	case *wire.ListStrategies:
		list, err := engine.ListActive(ctx)
		c.answerOr(req, &wire.StrategyList{Runs: list}, err)
	default:
		c.reply(errorFor(req, wire.CodeInvalidMessage, "this daemon does not support "+req.Type(), ""))
	}
}

// startsWork reports whether a request starts work that continues after it.
func startsWork(req wire.Request) bool {
	switch req.(type) {
	case *wire.PrepareRun, *wire.StartRun, *wire.ContinueRun:
		return true
	}
	return false
}

// greet answers a hello.
func (c *socket) greet(hello *wire.Hello) {
	l := &c.s.limits
	c.s.o.Log.Info("client connected", "name", c.caller.Name, "via", c.caller.Method, "client", hello.Client)
	c.reply(replyTo(hello, &wire.Greeting{
		Protocol: wire.Protocol, DaemonVersion: c.s.o.Version,
		Caller: wire.Caller{Name: c.caller.Name, Via: c.caller.Method, Scopes: scopeNames(c.caller)},
		Limits: wire.Limits{MessageBytes: int(l.message), Subscriptions: l.subs, PerSecond: int(l.rate), Burst: int(l.burst)},
	}))
}

func scopeNames(caller auth.Caller) []string {
	names := []string{}
	for _, s := range scopes(caller) {
		names = append(names, string(s))
	}
	return names
}

// prepare prepares a run and subscribes the caller.
func (c *socket) prepare(ctx context.Context, r *wire.PrepareRun) {
	var o *runs.PrepareOptions
	spec, err := specOf(r)
	if err == nil {
		o, err = c.s.o.prepareOptions(ctx, c.caller, spec)
	}
	if err != nil {
		code := wire.CodePrepareFailed
		if outcome.FromError(err) == outcome.Forbidden {
			code = wire.CodeForbidden
		}
		c.reply(errorFor(r, code, err.Error(), outcome.Hint(err)))
		return
	}
	o.Actor = c.actor()
	p, err := c.s.o.Runs.Prepare(ctx, *o)
	if err != nil {
		if p = c.s.o.Runs.Running(r.RunID); p == nil {
			c.fail(r, err)
			return
		}
	}
	m := &wire.RunPrepared{
		RunID: p.Run, StrategyName: p.Strategy.Name, StrategyPath: p.Strategy.Path, Agents: p.Strategy.Agents,
		FlowTree: p.Strategy.Flow, Cwd: p.Strategy.Cwd, Workspace: p.Strategy.Workspace, Model: p.Strategy.Model, Mode: p.Strategy.Mode,
		Continues: p.Exists, Status: cmp.Or(p.Status, api.StatusPending),
	}
	if p.Exists {
		meta, err := c.s.o.Sessions.Get(ctx, p.Run)
		if err != nil && (p.Status != api.StatusRunning || !errors.Is(err, session.ErrNotFound)) { // ErrNotFound is possible: the log may not exist yet
			c.fail(r, err)
			return
		}
		m.LastSeq = meta.Head
	}
	c.subscribePrepared(r, m)
}

// replyStarted answers a request to start a run, and wakes the subscribers of that run.
func (c *socket) replyStarted(req wire.Request, err error) {
	if err == nil {
		c.s.starts.notify(runNamed(req))
	}
	c.fail(req, err)
}

// stopRun stops a run. If the run was only prepared, it is discarded and leaves no record.
func (c *socket) stopRun(ctx context.Context, r *wire.StopRun) {
	if r.AgentSession != "" {
		c.fail(r, c.s.o.Runs.StopSubagent(ctx, r.RunID, r.AgentSession, r.RequestID, c.actor()))
		return
	}
	info, err := c.s.o.Runs.Get(ctx, r.RunID)
	prepared := err == nil && info.Status == api.StatusPending
	if err := c.s.o.Runs.Stop(ctx, r.RunID, r.RequestID, c.actor()); err != nil {
		c.fail(r, err)
		return
	}
	if prepared {
		c.s.dismiss(r.RunID, r.RequestID)
	}
}

// specOf returns the run spec of a request, from its spec and from CommaAgents' fields.
func specOf(r *wire.PrepareRun) (runspec.Spec, error) {
	s := runspec.Spec{
		Model: r.ModelOverride, Cwd: r.Cwd, Workspace: r.Workspace, Strategy: r.Strategy, StrategyPath: r.StrategyPath,
		Session: runspec.Session{ID: r.RunID}, Permissions: runspec.Permissions{Mode: r.Mode}, Limits: runspec.Limits{MaxBudgetUSD: r.MaxBudgetUSD},
	}
	if r.ManifestPath != "" {
		s.Permissions.Settings = []string{r.ManifestPath}
	}
	if p := r.StrategyPath; p != "" && !filepath.IsAbs(p) && !filepath.IsAbs(r.Cwd) && r.Workspace == "" {
		return s, errors.New("a relative strategyPath needs cwd")
	}
	if len(r.Spec) == 0 {
		return s, nil
	}
	var spec runspec.Spec
	if err := spec.Parse(r.Spec); err != nil {
		return s, err
	}
	if len(spec.Images) > 0 {
		return s, &runspec.Error{Field: "spec.images", Message: "images are sent with the message that starts the run", Help: "start_run with images"}
	}
	return s.Merge(spec), nil
}

// decide answers an approval.
func (c *socket) decide(ctx context.Context, r *wire.PermissionDecision) {
	ans := approval.Answer{
		RequestID: r.PermissionRequestID, Decision: approval.Decision(r.Decision), Scope: r.Scope, SaveTo: r.Always, Message: r.Message,
		Stop: r.Stop, Input: r.Input, Actor: c.caller.Name, Via: via,
	}
	plan, err := c.planSaveByID(ctx, &ans)
	if err == nil {
		_, err = c.s.o.Runs.Decide(ctx, r.RunID, ans, r.Digest)
	}
	if err == nil && plan != nil {
		k, err := saveRule(plan)
		if err != nil {
			c.fail(r, err)
			return
		}
		c.reply(replyTo(r, wire.NewRuleSaved(r.RunID, r.PermissionRequestID, k)))
		return
	}
	switch {
	case errors.Is(err, approval.ErrNoRequest), errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrExpired):
		e := wire.NoPendingPermission(r.RunID, r.PermissionRequestID)
		if w, ok := errors.AsType[*approval.AnsweredError](err); ok {
			e.Hint = "the first answer was " + string(w.First.Decision) + " by " + w.First.Actor
		}
		c.reply(replyTo(r, e))
	default:
		c.fail(r, err)
	}
}

func (c *socket) changePolicy(ctx context.Context, req wire.Request, change policy.Change) {
	run, by := runNamed(req), c.actor()
	if _, err := c.s.o.Runs.Change(ctx, run, change, by); err != nil {
		c.fail(req, err)
		return
	}
	tool := ""
	if change.Patch != nil {
		tool = change.Patch.Tool
	}
	chain, err := c.s.o.Runs.PreparedChain(ctx, run, tool)
	if err != nil { // the run is running and records the change
		return
	}
	for _, sub := range c.s.subscriptionsOf(run) {
		m := wire.ChainUpdated(&chain, by.Name, by.Via)
		if m.RunID = run; sub.c == c {
			m.RequestID = req.Correlation()
		}
		sub.send(m)
	}
}

// answerOr replies with m, or with the error.
func (c *socket) answerOr(req wire.Request, m wire.Message, err error) {
	if err != nil {
		c.fail(req, err)
		return
	}
	c.reply(replyTo(req, m))
}

// fail replies with the error of a failed request. If err is nil, it sends nothing.
func (c *socket) fail(req wire.Request, err error) {
	if err == nil {
		return
	}
	code := wire.CodeInternal
	switch e, ok := errors.AsType[*runs.Error](err); {
	case isUnavailable(err) && !errors.Is(err, runs.ErrDraining):
		code = wire.CodeUnavailable
	case ok:
		code = e.Code
	case errors.Is(err, policy.ErrStale), errors.Is(err, session.ErrConflict):
		code = wire.CodeConflict
	case errors.Is(err, policy.ErrInvalid), errors.Is(err, approval.ErrInvalid), errors.Is(err, session.ErrInvalid),
		errors.Is(err, session.ErrInvalidID):
		code = wire.CodeValidation
	case errors.Is(err, session.ErrNotFound):
		code = wire.CodeRunNotFound
	case outcome.FromError(err) == outcome.Usage:
		code = wire.CodeValidation
	default:
		c.s.o.Log.Error("a client's request failed", "type", req.Type(), "error", err)
	}
	c.reply(errorFor(req, code, err.Error(), outcome.Hint(err)))
}

// replyTo makes m the reply to a request.
func replyTo(req wire.Request, m wire.Message) wire.Message {
	m.Common().RequestID = req.Correlation()
	return m
}

func errorFor(req wire.Request, code wire.Code, message, hint string) *wire.Error {
	e := &wire.Error{Code: code, Message: message, Hint: hint, RunID: runNamed(req)}
	e.RequestID = req.Correlation()
	return e
}
