package holdfast

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Start checks a spec, opens its session, records the spec and starts to work on the prompt. It
// returns when the spec is stored. The run continues after ctx has ended, until it is finished or
// until [Run.Stop] or [Runtime.Close] is called. Start returns a *[runspec.Error] for an invalid
// spec, session.ErrBusy if another process runs the session, and errors of settings and stores.
func (rt *Runtime) Start(ctx context.Context, spec RunSpec) (*Run, error) {
	if len(spec.Strategy) > 0 || spec.StrategyPath != "" {
		return nil, outcome.Invalid("only the daemon runs strategies of several agents", "holdfast daemon; POST /v1/runs")
	}
	if spec.Session.NoPersist {
		return nil, outcome.Invalid("session.no_persist: a run needs a stored session", `open a runtime whose Store is "memory:"`)
	}
	e := *rt.parts.Env
	dir, err := e.Dir()
	if err != nil {
		return nil, err
	}
	if spec.Cwd == "" && spec.Workspace == "" {
		spec.Cwd = dir
	}
	if err := errors.Join(spec.Resolve(dir), spec.Check()); err != nil {
		return nil, err
	}
	if err := e.ResolveReferences(ctx, spec.Environment.References); err != nil {
		return nil, err
	}
	r := &Run{rt: rt, idle: make(chan struct{}), turnRunning: true}
	if r.agent, err = rt.compose(ctx, &e, &spec, r); err != nil {
		return nil, err
	}
	described := spec.ForResume("")
	if err = described.MaskSecrets(r.agent.Masked); err == nil {
		err = rt.begin(ctx, r, &described, spec.Session.Title)
	}
	if err != nil {
		return nil, errors.Join(err, r.agent.Close())
	}
	go r.work(inputimage.Input(spec.Prompt, spec.Images))
	return r, nil
}

// compose creates the agent of a run.
func (rt *Runtime) compose(ctx context.Context, e *env.Env, spec *RunSpec, r *Run) (*compose.Agent, error) {
	request := &compose.Request{Env: e, Spec: spec, Cwd: spec.Cwd, Model: rt.config.Model, Fallback: rt.config.Fallback, Tools: rt.config.Tools}
	return rt.parts.Agent(ctx, request, nil, compose.Askers{
		Ask: rt.config.Approve,
		OnWorkspace: func(path, branch string) {
			r.publish(event.Notice{Text: "in the worktree " + path + ", on the branch " + branch})
		},
	})
}

// begin opens the run's session and records the run's spec.
func (rt *Runtime) begin(ctx context.Context, r *Run, spec *RunSpec, title string) error {
	opened, err := r.agent.Start(ctx)
	if err != nil {
		return err
	}
	r.id = opened.ID
	if err := runlog.Describe(ctx, rt.Sessions(), r.id, spec, env.Account()); err != nil {
		return err
	}
	if !opened.Created && title != "" {
		if err := rt.Sessions().Rename(ctx, r.id, r.agent.Masked(title)); err != nil {
			return err
		}
	}
	rt.parts.Env.SendNotice(r.agent.Notices()...)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed {
		return ErrClosed
	}
	rt.runs[r.id] = r
	return nil
}

// Resume continues the session with this id or name, using its recorded spec. The process may have
// been killed, or the last turn may have been interrupted or have ended. Without a prompt, the run
// finishes interrupted work; if there is none, [Run.Wait] returns agent.ErrNoInput. A tool call
// that had started is not run again, and the model is informed. The environment variables that the
// spec names are read from the runtime's environment. [Config].Notify reports missing ones.
func (rt *Runtime) Resume(ctx context.Context, name, prompt string) (*Run, error) {
	m, err := rt.Sessions().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	was, err := runlog.Spec(ctx, rt.Sessions(), m.ID)
	if err != nil {
		return nil, err
	}
	spec := RunSpec{Cwd: m.CWD}
	if was != nil {
		spec = *was
	}
	if missing := rt.parts.Env.Missing(&spec.Environment); len(missing) > 0 {
		rt.parts.Env.Warn("run %s was started with variables that are not set in this process: %s", m.ID, strings.Join(missing, ", "))
	}
	spec = spec.ForResume(m.ID)
	spec.Prompt = prompt
	return rt.Start(ctx, spec)
}

// Fork forks the session with this id or name and continues in the fork. The session itself does
// not change. If the options are nil, all of the session is forked, without its grants.
func (rt *Runtime) Fork(ctx context.Context, name, prompt string, o *session.ForkOptions) (*Run, error) {
	m, err := rt.Sessions().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	id, err := rt.Sessions().Fork(ctx, m.ID, o)
	if err != nil {
		return nil, err
	}
	return rt.Resume(ctx, id, prompt)
}

// Attach returns the run of the session with this id or name. It may run in this process, in
// another process with the same store, or nowhere. You can read its events, answer its approval
// requests and change its policy. Send, Wait, Interrupt and Stop work only in the process that runs
// it.
func (rt *Runtime) Attach(ctx context.Context, name string) (*Run, error) {
	m, err := rt.Sessions().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if r := rt.runs[m.ID]; r != nil {
		return r, nil
	}
	return &Run{rt: rt, id: m.ID}, nil
}

// Approvals lists the open approval requests of the session with this id and of its sub-agents,
// oldest first. If id is "", it lists those of all sessions.
func (rt *Runtime) Approvals(ctx context.Context, id string) ([]approval.Request, error) {
	return runlog.Pending(ctx, rt.Sessions(), id)
}

// Policy is the part of a run's policy that was decided in the run itself, not in the settings.
type Policy struct {
	Mode   policy.Mode    // the current permission mode
	Grants []policy.Grant // decisions of the user for the session
}

// Policy returns the policy of the run to which the session with this id belongs. It may be the
// session of a sub-agent.
func (rt *Runtime) Policy(ctx context.Context, id string) (Policy, error) {
	m, err := rt.Sessions().Get(ctx, id)
	if err == nil {
		m, err = sessionpolicy.PolicySession(ctx, rt.Sessions(), m)
	}
	if err != nil {
		return Policy{}, err
	}
	g, err := sessionpolicy.Guards(ctx, rt.Sessions(), m)
	if err != nil {
		return Policy{}, err
	}
	return Policy{Mode: g.Mode(), Grants: g.Grants()}, nil
}

// Prompt runs a spec in the session with this id to its end and returns the last text of the model.
// If the session exists, Prompt resumes it with its recorded spec and without a new prompt. So a
// program that was killed and calls Prompt again finishes its earlier work. Prompt also returns the
// error of a failed model call.
func (rt *Runtime) Prompt(ctx context.Context, id string, spec RunSpec) (string, error) {
	r, err := rt.Resume(ctx, id, "")
	if errors.Is(err, session.ErrNotFound) {
		spec.Session.ID = id
		r, err = rt.Start(ctx, spec)
	}
	if err != nil {
		return "", err
	}
	res, err := r.Wait(ctx)
	if errors.Is(err, agent.ErrNoInput) {
		text, lastErr := rt.lastAnswer(ctx, id)
		res, err = &event.Result{Text: text}, lastErr
	}
	if stopped := r.Stop(context.WithoutCancel(ctx)); err == nil {
		err = stopped
	}
	if err != nil {
		return "", err
	}
	return res.Text, res.Err
}

// lastAnswer returns the last text of the model in a session.
func (rt *Runtime) lastAnswer(ctx context.Context, id string) (string, error) {
	l, err := rt.Sessions().Load(ctx, id, nil)
	if err != nil {
		return "", err
	}
	for _, it := range slices.Backward(l.Items) {
		if it.Role() == transcript.RoleAssistant {
			item, err := it.Decode()
			return item.Text(), err
		}
	}
	return "", nil
}
