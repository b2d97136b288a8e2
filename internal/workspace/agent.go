package workspace

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// AgentOptions adjusts [Workspaces.Agent].
type AgentOptions struct {
	// Options are those of the loop. Sessions is needed, and every turn is kept in it.
	//
	// With [KindHoldfast] the loop runs in the container and is described by Inside; of
	// these Sessions, Session, Ask, LoopObservers and Fallback count.
	//
	// With any other kind the agent brings tools, compaction and retries of its own:
	// Tools, Fallback, Compact, Retry, MaxTokens and Effort are not looked at. Permissions
	// judge its tool uses in the host's terms; their Folders are the project when they
	// are empty. Sandbox is what the workspace is.
	Options agent.Options
	// Model answers for [KindHoldfast], on the host; others have a model of their own.
	Model model.Model
	// Inside says, for [KindHoldfast], what the loop in the container is made of.
	Inside hostpipe.Spec
	// Environ is the caller's environment, "NAME=value": the variables that the settings
	// name as credentials are taken from it, and handed to the agent's process alone.
	Environ []string
	// ModelName is the agent's name of its model; "" is the one of the settings.
	ModelName string
	// Kind is another kind of agent than the settings have, with its usual command.
	Kind string
	// Ephemeral runs in a container of its own that keeps nothing. Every turn is told the
	// history; the log has everything.
	Ephemeral bool
	// History is how many tokens of history an agent is told that does not know it;
	// default 20,000.
	History int
}

// turner is an agent as the daemon and the command line run it: [agent.Agent] by shape.
type turner interface {
	Start(ctx context.Context) (event.SessionOpened, error)
	Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error]
	Submit(ctx context.Context, input ...transcript.Part) error
	Interrupt()
	Change(ctx context.Context, c policy.Change) (policy.Change, error)
	Mode() policy.Mode
	Guards() *policy.Guards
	Snapshot() agent.Snapshot
	SessionID() string
	Close() error
	Suspend() error
}

// Agent is an agent that works in a workspace. Its methods are those of [agent.Agent],
// with the same contracts, whoever made the agent: everything durable is in the
// session's log before it is yielded, one turn of a session runs at a time, and a tool
// use is judged by the guards before it runs. The container is started with the first
// turn that needs it.
type Agent struct {
	turner
	// Kind is the kind of the agent: [KindHoldfast], [KindClaude], …
	Kind string
	ends func()
}

// Agent returns the agent of a workspace for one session. It starts nothing. Errors:
// [ErrNotFound], [ErrInvalid] for options that do not fit, and what the credentials lack.
func (w *Workspaces) Agent(ctx context.Context, slug string, o AgentOptions) (*Agent, error) {
	s, err := w.Get(ctx, slug)
	if err != nil {
		return nil, err
	}
	if o.Kind != "" && o.Kind != s.Agent.Kind {
		s.Agent, s.Model = AgentSpec{Kind: o.Kind}, ""
		if p := s.checkAgent(); p != nil {
			return nil, p.error(slug)
		}
	}
	bad := func(format string, args ...any) (*Agent, error) {
		return nil, &Error{Op: "run an agent in", Slug: slug, Err: ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Options.Sessions == nil || o.Options.NoPersist:
		return bad("its sessions are always kept: a store is needed")
	case len(o.Options.Transcript) > 0:
		return bad("it goes on with a session, not with a transcript")
	}
	env, err := credentials(s, o.Environ)
	if err != nil {
		return nil, err
	}
	w.place(s, &o.Options.Session)
	r := &runner{w: w, slug: slug, ephemeral: o.Ephemeral, env: env}
	if s.Agent.Kind == KindHoldfast {
		return w.builtinAgent(s, r, o)
	}
	return w.guestAgent(s, r, o)
}

// place has a session belong to the workspace: when it is made, and when the last one
// is gone on with.
func (w *Workspaces) place(s *Settings, o *session.RestoreOptions) {
	project := s.SessionProject()
	o.Opened.Project, o.Opened.CWD, o.Opened.GitBranch = project, w.dirs(s).Project, ""
	if o.ContinueRecent {
		o.Project = project
	}
}

// credentials are the variables that the settings name, from the caller's environment.
func credentials(s *Settings, environ []string) ([]string, error) {
	env := make([]string, 0, len(s.Credentials))
	for _, name := range s.Credentials {
		i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 || environ[i] == name+"=" {
			return nil, &Error{
				Op: "run an agent in", Slug: s.Slug, Err: ErrInvalid, Detail: "the variable " + name + ", which its settings name as a credential, is not set",
				Advice: "set it, or take it out of the settings",
			}
		}
		env = append(env, environ[i])
	}
	return env, supervisor.CheckEnv(env)
}

// builtinAgent is our own loop, inside.
func (w *Workspaces) builtinAgent(s *Settings, r *runner, o AgentOptions) (*Agent, error) {
	models := []model.Model{o.Model}
	if o.Options.Model.Fallback != nil {
		models = append(models, o.Options.Model.Fallback)
	}
	spec := o.Inside
	if spec.Run.Cwd == "" {
		spec.Run.Cwd = WorkFolder
	}
	a, err := newBuiltin(builtinOptions{
		Sessions: o.Options.Sessions, Session: o.Options.Session, Opening: o.Options.NewSession, Models: models, Ask: o.Options.Permissions.Ask, Observers: o.Options.LoopObservers, Spec: spec,
		Ready: r.ready,
		Start: func(ctx context.Context, spec supervisor.Spec) (agentProcess, error) {
			return r.start(ctx, spec)
		},
	})
	if err != nil {
		return nil, &Error{Op: "run an agent in", Slug: s.Slug, Err: ErrInvalid, Detail: err.Error()}
	}
	return &Agent{turner: a, Kind: s.Agent.Kind, ends: func() {}}, nil
}

// Close is [agent.Agent.Close]. Nothing of the agent runs any more when it returns; the
// container stays.
func (a *Agent) Close() error {
	err := a.turner.Close()
	a.ends()
	return err
}

// Suspend is [agent.Agent.Suspend], and ends what runs as Close does.
func (a *Agent) Suspend() error {
	err := a.turner.Suspend()
	a.ends()
	return err
}
