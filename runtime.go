package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Start checks a spec, opens its session, puts the spec on record and starts to work on its
// prompt. It returns when the session is on record; the run continues after ctx has ended, until
// it is finished, [Run.Stop] or [Runtime.Close]. Errors: a *[runspec.Error] for the spec,
// session.ErrBusy when another process has the session, and those of settings and stores.
func (rt *Runtime) Start(ctx context.Context, spec RunSpec) (*Run, error) {
	if len(spec.Strategy) > 0 || spec.StrategyPath != "" {
		return nil, outcome.Invalid("strategies of several agents are run by the daemon", "holdfast daemon; POST /v1/runs")
	}
	if spec.Session.NoPersist {
		return nil, outcome.Invalid("session.no_persist: a run is what its session records, so it cannot write nothing", `open a runtime whose Store is "memory:"`)
	}
	e := rt.env
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
	if err := e.Fetch(ctx, spec.Environment.From); err != nil {
		return nil, err
	}
	r := &Run{rt: rt, idle: make(chan struct{}), working: true}
	if r.agent, err = rt.compose(ctx, &e, &spec, r); err != nil {
		return nil, err
	}
	described := spec.Next("")
	if err = described.WithoutSecrets(r.agent.Masked); err == nil {
		err = rt.begin(ctx, r, &described, spec.Session.Title)
	}
	if err != nil {
		return nil, errors.Join(err, r.agent.Close())
	}
	var input []transcript.Part
	if spec.Prompt != "" {
		input = []transcript.Part{transcript.Text{Text: spec.Prompt}}
	}
	go r.work(input)
	return r, nil
}

// compose puts the agent of a run together.
func (rt *Runtime) compose(ctx context.Context, e *env.Env, spec *RunSpec, r *Run) (*compose.Agent, error) {
	request := &compose.Request{Env: e, Spec: spec, Cwd: spec.Cwd, Model: rt.config.Model, Fallback: rt.config.Fallback, Tools: rt.config.Tools}
	var in *compose.Space
	if spec.Workspace != "" {
		var err error
		if in, err = compose.OpenSpace(ctx, rt.spaces, spec.Workspace, spec.Container.Agent); err != nil {
			return nil, err
		}
	}
	open := func(context.Context) (*stores.Store, error) { return rt.store, nil }
	return compose.New(ctx, request, in, open, compose.People{
		Ask: rt.config.Approve,
		Entered: func(path, branch string) {
			r.publish(event.Notice{Text: "in the worktree " + path + ", on the branch " + branch})
		},
	})
}

// begin opens the run's session and puts on record how the run is described.
func (rt *Runtime) begin(ctx context.Context, r *Run, spec *RunSpec, title string) error {
	opened, err := r.agent.Start(ctx)
	if err != nil {
		return err
	}
	r.id = opened.ID
	if err := rt.record(ctx, r.id, spec); err != nil {
		return err
	}
	if !opened.Created && title != "" {
		if err := rt.Sessions().Rename(ctx, r.id, r.agent.Masked(title)); err != nil {
			return err
		}
	}
	e := rt.env
	for _, n := range r.agent.Notices() {
		e.Send(n)
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed {
		return ErrClosed
	}
	rt.runs[r.id] = r
	return nil
}

// record puts a spec on record, unless the session's record says the same.
func (rt *Runtime) record(ctx context.Context, id string, spec *RunSpec) error {
	was, err := rt.specOf(ctx, id)
	if err != nil {
		return err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if before, err := json.Marshal(was); err == nil && string(before) == string(text) {
		return nil
	}
	d, err := session.NewDraft(session.KindRunEvent, wire.RunEvent{Event: wire.RunDescribed, Spec: spec, By: env.Account()})
	if err != nil {
		return err
	}
	for {
		m, err := rt.Sessions().Get(ctx, id)
		if err != nil {
			return err
		}
		if _, err = rt.Sessions().AppendShared(ctx, id, m.Head, d); !errors.Is(err, session.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// specOf is what the record says that a run is: nil when it says nothing.
func (rt *Runtime) specOf(ctx context.Context, id string) (spec *RunSpec, err error) {
	for rec, err := range rt.Sessions().Effective(ctx, id, session.Range{}) {
		if err != nil {
			return nil, err
		}
		if rec.Kind != session.KindRunEvent || rec.Payload == nil {
			continue
		}
		var e struct {
			Spec     *RunSpec `json:"spec"`
			Strategy *struct {
				Sole string `json:"sole"`
			} `json:"strategy"`
		}
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			return nil, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
		if e.Strategy != nil && e.Strategy.Sole == "" {
			return nil, outcome.Invalid("session "+id+" is a run of several agents, which the daemon continues", "holdfast daemon; POST /v1/runs/"+id+"/continue")
		}
		if e.Spec != nil {
			spec = e.Spec
		}
	}
	return spec, nil
}

// Resume continues a session, by its id or name, as it is described on its record: after a
// kill, an interruption, or a turn that is complete. Without a prompt it finishes what was
// under way, and [Run.Wait] returns agent.ErrNothingToDo when nothing was. A tool call that
// had started is not run again; the model is told. Variables that the run was started
// with are taken from the runtime's environment; [Config].Notify is told which are missing.
func (rt *Runtime) Resume(ctx context.Context, name, prompt string) (*Run, error) {
	m, err := rt.Sessions().Find(ctx, name)
	if err != nil {
		return nil, err
	}
	was, err := rt.specOf(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	spec := RunSpec{Cwd: m.CWD}
	if was != nil {
		spec = *was
	}
	if missing := rt.missing(&spec); len(missing) > 0 {
		rt.env.Warn("run %s was started with variables that are not set here: %s", m.ID, strings.Join(missing, ", "))
	}
	spec = spec.Next(m.ID)
	spec.Prompt = prompt
	return rt.Start(ctx, spec)
}

// missing are the variables that a run was started with and that are not set here.
func (rt *Runtime) missing(spec *RunSpec) (list []string) {
	for _, name := range spec.Environment.Variables {
		if _, kept := spec.Environment.From[name]; kept {
			continue
		}
		if _, ok := rt.env.LookupCommand(name); !ok {
			list = append(list, name)
		}
	}
	return list
}

// Fork continues in a fork of a session, by its id or name; the session stays as it is. Nil options fork
// all of it, without the permission decisions that were made in it.
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

// Attach returns the run of a session, by its id or name, wherever it works: in this
// process, in another one that uses the same store, or not at all. Its events can be read and
// its questions answered; Send, Interrupt and Stop are for the process that works on it.
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

// Approvals are the questions that wait for an answer, oldest first: of a run, by the id of
// its session, and with "" of all runs.
func (rt *Runtime) Approvals(ctx context.Context, id string) ([]approval.Question, error) {
	if id == "" {
		return approval.Pending(ctx, rt.Sessions(), "")
	}
	return approval.PendingOf(ctx, rt.Sessions(), id)
}

// Policy is what was decided in a run, beside what settings say.
type Policy struct {
	Mode   policy.Mode    // in force
	Grants []policy.Grant // what was allowed and denied for the session
}

// Policy is the policy of a run, by the id of its session or of one that works for it.
func (rt *Runtime) Policy(ctx context.Context, id string) (Policy, error) {
	m, err := rt.Sessions().Get(ctx, id)
	if err == nil {
		m, err = policylog.Of(ctx, rt.Sessions(), m)
	}
	if err != nil {
		return Policy{}, err
	}
	g, err := policylog.Guards(ctx, rt.Sessions(), m)
	if err != nil {
		return Policy{}, err
	}
	return Policy{Mode: g.Mode(), Grants: g.Grants()}, nil
}

// Prompt runs a spec in the session with this id to its end, and returns the last text of the model. When
// the session is there it resumes it as it is on record, so a program that was killed and
// calls Prompt again finishes what it had begun. The error is that of a failed model call, too.
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
	if errors.Is(err, agent.ErrNothingToDo) {
		text, lastErr := rt.lastText(ctx, id)
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

// lastText is the last text of the model in a session.
func (rt *Runtime) lastText(ctx context.Context, id string) (string, error) {
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
