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

// AgentOptions configures [Workspaces.Agent].
type AgentOptions struct {
	// Options are the options of the agent loop. Sessions is required: every turn is stored in it.
	//
	// For [KindHoldfast] the loop runs in the container and is described by Inside; of these options only
	// Sessions, Session, Ask, LoopObservers and Fallback apply.
	//
	// Agents of any other kind have their own tools, compaction and retries: Tools, Fallback, Compact, Retry,
	// MaxTokens and Effort are ignored. Permissions decides about their tool calls in the host's terms; an empty
	// Folders means the project. Sandbox describes the workspace.
	Options agent.Options
	// Model answers for [KindHoldfast], on the host. Agents of other kinds have their own model.
	Model model.Model
	// Inside describes, for [KindHoldfast], the agent loop in the container.
	Inside hostpipe.Spec
	// Environ is the caller's environment as "NAME=value". The variables that the settings name as credentials are
	// taken from it and passed to the agent's process only.
	Environ []string
	// ModelName is the agent's name for its model; "" uses the settings' name.
	ModelName string
	// Kind overrides the agent kind of the settings, with that kind's default command.
	Kind string
	// Ephemeral runs the agent in a new container that is removed afterwards. Every turn gets the history from the
	// log.
	Ephemeral bool
	// History is the maximum number of history tokens sent to an agent that does not know the session; default
	// 20,000.
	History int
}

// turner is the part of [agent.Agent] that the daemon and the command line use to run an agent.
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

// Agent is an agent that works in a workspace. Its methods have the contracts of [agent.Agent], for every kind of
// agent: durable data is in the session's log before it is yielded, a session runs one turn at a time, and the
// guards decide about a tool call before it runs. The first turn that needs the container starts it.
type Agent struct {
	turner
	// Kind is the agent's kind: [KindHoldfast], [KindClaude], …
	Kind string
	ends func()
}

// Agent returns the agent of a workspace for one session. It starts nothing. Errors: [ErrNotFound], and
// [ErrInvalid] for invalid options or missing credentials.
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
		return bad("a session store is required")
	case len(o.Options.Transcript) > 0:
		return bad("a workspace resumes a session by its id, not from a transcript")
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
	return w.newVendorAgent(s, r, o)
}

// place assigns a session to the workspace: a new session and one that is resumed as the latest.
func (w *Workspaces) place(s *Settings, o *session.RestoreOptions) {
	project := s.SessionProject()
	o.Opened.Project, o.Opened.CWD, o.Opened.GitBranch = project, w.dirs(s).Project, ""
	if o.ContinueRecent {
		o.Project = project
	}
}

// credentials returns the variables that the settings name, with their values from the caller's environment.
func credentials(s *Settings, environ []string) ([]string, error) {
	env := make([]string, 0, len(s.Credentials))
	for _, name := range s.Credentials {
		i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 || environ[i] == name+"=" {
			return nil, &Error{
				Op: "run an agent in", Slug: s.Slug, Err: ErrInvalid, Detail: "the credential variable " + name + " is not set",
				Advice: "set it, or remove it from the workspace's credentials",
			}
		}
		env = append(env, environ[i])
	}
	return env, supervisor.CheckEnv(env)
}

// builtinAgent returns Holdfast's own loop, which runs in the container.
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

// Close is [agent.Agent.Close]. When it returns, all processes of the agent have ended; the container keeps
// running.
func (a *Agent) Close() error {
	err := a.turner.Close()
	a.ends()
	return err
}

// Suspend is [agent.Agent.Suspend]; it ends running work as Close does.
func (a *Agent) Suspend() error {
	err := a.turner.Suspend()
	a.ends()
	return err
}
