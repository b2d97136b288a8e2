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
	// Options has the options of the agent loop. Sessions is required, because every turn is stored
	// in it.
	//
	// For [KindHoldfast] the loop runs in the container, and Inside describes it. Only these
	// options then apply: Sessions, Session, NewSession, Permissions.Ask, LoopObservers and
	// Model.Fallback.
	//
	// An agent of any other kind has its own tools, compaction and retries, so Tools, Compact and
	// the fields of Model are ignored. Permissions decides about its tool calls, with the paths of
	// the host. If Permissions.Config.Folders is empty, the project is the only folder.
	// Permissions.Sandbox is set to a description of the workspace.
	Options agent.Options
	// Model is the model for [KindHoldfast]. The host calls it. Agents of other kinds have their
	// own model.
	Model model.Model
	// Inside describes the agent loop in the container, for [KindHoldfast].
	Inside hostpipe.Spec
	// Environ is the caller's environment as "NAME=value". The variables that the settings name as
	// credentials are read from it and passed only to the agent's process.
	Environ []string
	// ModelName is the model's name as the agent knows it. If it is "", the name in the settings is
	// used.
	ModelName string
	// Kind replaces the agent kind in the settings. The agent then has the default command of this
	// kind.
	Kind string
	// Ephemeral runs the agent in a new container that is removed afterwards. Every turn gets the history from the
	// log.
	Ephemeral bool
	// History is the maximum number of tokens of history for an agent that does not know the
	// session; default 20,000.
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

// Agent is an agent that works in a workspace. Its methods have the contracts of [agent.Agent] for
// every kind of agent: durable data is in the session's log before it is yielded, only one turn of
// a session runs at a time, and the guards decide about a tool call before it runs. The first turn
// that needs the container starts it.
type Agent struct {
	turner
	// Kind is the agent's kind: [KindHoldfast], [KindClaude], …
	Kind string
	ends func()
}

// Agent returns an agent that works on one session in a workspace. It starts nothing. Errors:
// [ErrNotFound], and [ErrInvalid] for invalid options or missing credentials.
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
	w.assignSession(s, &o.Options.Session)
	r := &runner{w: w, slug: slug, ephemeral: o.Ephemeral, env: env}
	if s.Agent.Kind == KindHoldfast {
		return w.builtinAgent(s, r, o)
	}
	return w.newVendorAgent(s, r, o)
}

// assignSession assigns a new session to the workspace. If the latest session is to be resumed, it selects
// the latest one of the workspace.
func (w *Workspaces) assignSession(s *Settings, o *session.RestoreOptions) {
	project := s.SessionProject()
	o.Opened.Project, o.Opened.CWD, o.Opened.GitBranch = project, w.dirs(s).Project, ""
	if o.ContinueRecent {
		o.Project = project
	}
}

// credentials returns the variables that the settings name as credentials, with their values in the
// caller's environment.
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

// Suspend is [agent.Agent.Suspend]. Like Close, it ends the work that is running.
func (a *Agent) Suspend() error {
	err := a.turner.Suspend()
	a.ends()
	return err
}
