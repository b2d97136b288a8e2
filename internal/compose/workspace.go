package compose

import (
	"cmp"
	"context"
	"os"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/hooks"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/runspec"
)

// Workspace is a workspace that an agent works in.
type Workspace struct {
	All      *workspace.Workspaces
	Settings *workspace.Settings
	Project  string // the folder on this machine
	Kind     string // the agent's kind
}

// OpenWorkspace opens a workspace for an agent of the given kind; "" means the kind in the
// workspace's settings. The caller closes it.
func OpenWorkspace(ctx context.Context, all *workspace.Workspaces, slug, kind string) (*Workspace, error) {
	s, err := all.Get(ctx, slug)
	if err != nil {
		return nil, err
	}
	return &Workspace{all, s, all.ProjectFolder(s), cmp.Or(kind, s.Agent.Kind)}, nil
}

// Close closes the workspaces.
func (s *Workspace) Close() { _ = s.All.Close() }

// IsBuiltin reports whether the agent is the built-in agent.
func (s *Workspace) IsBuiltin() bool { return s.Kind == workspace.KindHoldfast }

// WorkspaceParts are the parts of an agent in a workspace.
//
//	spec ─► settings of the host ─┬─ built-in agent: models here, everything else passed to the process inside
//	                              └─ vendor agent: permissions, hooks and approvals here
type WorkspaceParts struct {
	Workspace *Workspace
	Settings  *settings.Settings
	Models    *models.Models         // the models of the built-in agent; nil for a vendor agent
	Options   workspace.AgentOptions // options without a session and without callbacks for requests

	hooks *hooks.Hooks
	flush func()
}

// MakeInWorkspace creates the parts of an agent in a workspace. The caller closes them after the
// agent.
func MakeInWorkspace(ctx context.Context, r *Request, in *Workspace) (m *WorkspaceParts, err error) {
	m = &WorkspaceParts{Workspace: in, hooks: &hooks.Hooks{}}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	in1 := *r
	in1.Cwd = in.Project
	r = &in1
	if m.Settings, err = Settings(r); err != nil {
		return m, err
	}
	mask, err := m.Settings.Masker()
	if err != nil {
		return m, err
	}
	m.Options = workspace.AgentOptions{
		Options: agent.Options{
			Permissions: agent.Permissions{AskTimeout: m.Settings.AskTimeout.Value}, Mask: mask, Limits: agent.Limits{MaxTurns: r.Spec.Limits.MaxTurns, MaxBudgetUSD: budget(r.Spec)},
			Clock: r.Env.Clock, Model: agent.ModelOptions{Retry: retries(m.Settings)},
		},
		Environ: r.Env.Vars, Kind: in.Kind, Ephemeral: r.Spec.Container.Ephemeral,
	}
	if _, m.flush, err = telemetry(ctx, r, &m.Options.Options); err != nil {
		return m, err
	}
	if in.IsBuiltin() {
		return m, m.builtinAgent(ctx, r)
	}
	return m, m.vendorAgent(r)
}

// builtinAgent prepares the built-in agent. The agent reads the folder's settings inside the
// container; it receives the other settings from this process.
func (m *WorkspaceParts) builtinAgent(ctx context.Context, r *Request) (err error) {
	e, spec := r.Env, *r.Spec
	if spec.Model == "" {
		spec.Model = m.Workspace.Settings.Model
	}
	hostRequest := *r
	hostRequest.Spec = &spec
	if m.Models, err = hostRequest.models(ctx, m.Settings); err != nil {
		return err
	}
	m.Options.Model, m.Options.Options.Model.Fallback = m.Models.Primary, m.Models.Fallback
	inside := &m.Options.Inside
	inside.Run, err = runInside(e, &spec)
	if err != nil {
		return err
	}
	o, err := e.SettingsOptions(m.Workspace.Project, nil)
	if err != nil {
		return err
	}
	inside.Settings, err = settings.NewPortable(o)
	return err
}

// runInside returns the spec of a run for the process in the container. It leaves out what the host
// does for that process.
func runInside(e *env.Env, spec *runspec.Spec) (runspec.Spec, error) {
	s := *spec
	s.Cwd, s.Model, s.Workspace, s.Prompt = workspace.WorkFolder, "", "", ""
	s.Strategy, s.StrategyPath = nil, ""
	s.Container, s.Session, s.Environment = runspec.Container{}, runspec.Session{}, runspec.Environment{}
	s.ModelOptions.Fallback, s.ModelOptions.BaseURL, s.Permissions.Unattended = "", "", ""
	s.Permissions.Settings = nil
	for _, f := range spec.Permissions.Settings {
		if !jsontree.StartsObject(f) {
			text, err := os.ReadFile(f)
			if err != nil {
				return s, outcome.Invalid("--settings: "+err.Error(), "")
			}
			f = string(text)
		}
		s.Permissions.Settings = append(s.Permissions.Settings, f)
	}
	more, err := compactSettings(e, spec)
	s.Permissions.Settings = append(s.Permissions.Settings, more...)
	return s, err
}

// vendorAgent prepares a vendor agent, whose permissions and sandbox are enforced here.
func (m *WorkspaceParts) vendorAgent(r *Request) (err error) {
	o := &m.Options.Options
	if o.Permissions.Config, err = m.Settings.Policy(); err != nil {
		return err
	}
	o.Permissions.Config.Folders = []string{m.Workspace.Project}
	m.Options.ModelName, o.System = r.Spec.Model, r.Spec.Instructions.AppendSystem
	if err := checkHooks(r.Spec, m.Settings); err != nil {
		return err
	}
	if m.hooks, err = hooks.Open(&hooks.Options{Env: r.Env, Settings: m.Settings, Folders: []string{m.Workspace.Project}}); err != nil {
		return err
	}
	m.hooks.Attach(o)
	return nil
}

// Attach connects the hooks to the agent's transcript.
func (m *WorkspaceParts) Attach(a *workspace.Agent) { m.hooks.SetSnapshot(a.Snapshot) }

// Label returns the model's display name.
func (m *WorkspaceParts) Label() string {
	if m.Models != nil {
		return m.Models.Primary.Info().String()
	}
	name := cmp.Or(m.Options.ModelName, m.Workspace.Settings.Model)
	if name == "" || m.Workspace.Kind != m.Workspace.Settings.Agent.Kind && m.Options.ModelName == "" {
		return m.Workspace.Kind
	}
	return m.Workspace.Kind + "/" + name
}

// KeySource returns the origin of the model's key.
func (m *WorkspaceParts) KeySource() string {
	if m.Models != nil {
		return m.Models.KeySource
	}
	return "none"
}

// Lasting reports whether a later command can resume the session with the same model.
func (m *WorkspaceParts) Lasting() bool {
	return m.Models == nil || m.Models.Primary.Info().Provider != "scripted"
}

func (m *WorkspaceParts) Close() {
	if m.flush != nil {
		m.flush()
	}
	if m.hooks != nil {
		m.hooks.Close()
	}
}
