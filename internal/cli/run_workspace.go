package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workspaceRunFlags are the flags of a run in a workspace.
type workspaceRunFlags struct {
	Workspace string `short:"w" placeholder:"SLUG" group:"space" help:"Work in the container of this workspace."`
	Agent     string `placeholder:"KIND" enum:",holdfast,claude,codex,acp" default:"" group:"space" help:"With --workspace: another agent than its settings name."`
	Ephemeral bool   `group:"space" help:"With --workspace: in a container for this run alone, whose home is thrown away; the session stays."`
}

// turns is an agent as far as showing a run goes.
type turns interface {
	Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error]
}

// checkSpace refuses flags that make no sense with a workspace, or without one.
func (c *runCmd) checkSpace() error {
	if c.Workspace == "" {
		switch {
		case c.Agent != "":
			return usage("--agent needs --workspace", "holdfast workspace list")
		case c.Ephemeral:
			return usage("--ephemeral needs --workspace", "holdfast workspace list")
		}
		return nil
	}
	for _, f := range []struct {
		given      bool
		name, hint string
	}{
		{c.CWD != "", "--cwd", "the agent works in the workspace's project: holdfast workspace set --project"},
		{len(c.AddDir) > 0, "--add-dir", "mount the folder: holdfast workspace set --mount"},
		{c.Worktree.wanted, "--worktree", "the agent can make one itself, where the container has git"},
		{c.NoSandbox, "--no-sandbox", "the container stays; without it: holdfast run"},
		{c.NoPersist, "--no-session-persistence", "what happens in a workspace is always on record; --ephemeral keeps no home"},
		{c.Init, "--init", ""},
		{c.Maintenance, "--maintenance", ""},
	} {
		if f.given {
			return usage(f.name+" cannot be used with --workspace", f.hint)
		}
	}
	return nil
}

// openSpace opens a workspace for an agent of a kind; "" is the one of its settings. The
// caller closes it.
func (p *Program) openSpace(ctx context.Context, slug, kind string) (*compose.Space, error) {
	if err := workspace.CheckSlug(slug); err != nil {
		return nil, err
	}
	all, err := p.spaces(nil)
	if err != nil {
		return nil, err
	}
	in, err := compose.OpenSpace(ctx, all, slug, kind)
	if err != nil {
		_ = all.Close()
	}
	return in, err
}

// checkKind refuses what an agent of another make cannot be told.
func (c *runCmd) checkKind(in *compose.Space) error {
	if in.Own() {
		return nil
	}
	for _, f := range []struct {
		given bool
		name  string
	}{
		{c.FallbackModel != "", "--fallback-model"},
		{c.BaseURL != "", "--base-url"},
		{c.MaxTokens != 0, "--max-tokens"},
		{c.Effort != "", "--effort"},
		{c.NoCompact, "--no-compact"},
		{c.CompactItems != 0, "--compact-items"},
		{c.SystemPrompt != "", "--system-prompt"},
		{c.SystemPromptFile != "", "--system-prompt-file"},
	} {
		if f.given {
			return usage(fmt.Sprintf("%s means nothing to the agent %s", f.name, in.Kind), "leave it out, or use --agent holdfast")
		}
	}
	return nil
}

// enter opens the workspace that the run is to happen in; nil without one. The caller
// closes it.
func (c *runCmd) enter(ctx context.Context, p *Program) (*compose.Space, error) {
	if err := c.checkSpace(); err != nil || c.Workspace == "" {
		return nil, err
	}
	in, err := p.openSpace(ctx, c.Workspace, c.Agent)
	if err != nil {
		return nil, err
	}
	if err := c.checkKind(in); err != nil {
		in.Close()
		return nil, err
	}
	c.space = in.Settings
	return in, nil
}

// belongs refuses a session that is not where the run happens: one of a workspace never
// goes on outside of it, and one from outside only in a fork.
func (c *runCmd) belongs(m *session.Meta) error {
	slug, _, inside := workspace.OfProject(m.Project)
	switch {
	case c.space == nil && inside:
		return usage(fmt.Sprintf("session %s works in workspace %s", m.ID, slug), fmt.Sprintf("holdfast run --workspace %s -r %s PROMPT", slug, m.ID))
	case c.space == nil || m.Project == c.space.SessionProject() || c.ForkSession && !inside:
		return nil
	case inside:
		return usage(fmt.Sprintf("session %s is not one of workspace %s, but of %s", m.ID, c.space.Slug, slug), "holdfast sessions list --workspace "+c.space.Slug)
	}
	return usage(fmt.Sprintf("session %s is not one of workspace %s", m.ID, c.space.Slug), "go on in a fork there: --fork-session")
}

// runIn runs an agent in a workspace and shows it.
func (c *runCmd) runIn(ctx context.Context, p *Program, in *compose.Space, input []transcript.Part, view view, settle func()) (outcome.Outcome, error) {
	r, err := c.composed(p, in.Project)
	if err != nil {
		return outcome.Of(err), err
	}
	m, err := compose.MakeIn(ctx, r, in)
	if err != nil {
		return outcome.Of(err), err
	}
	defer m.Close()
	c.Name, _ = m.Options.Options.Mask.Text(c.Name)
	sessions, closeStore, err := p.openWith(ctx, c.Store, &stores.Options{Mirror: true})
	if err != nil {
		return outcome.Failed, err
	}
	defer closeStore()
	o := m.Options
	o.Ephemeral, o.Options.Sessions = c.Ephemeral, sessions
	if o.Options.Session, err = c.session(ctx, sessions, in.Project); err != nil {
		return outcome.Of(err), err
	}
	o.Options.Ask = unattended(m.Settings.OnAsk.Value)
	if c.OutputFormat == "text" {
		if person := p.asker(); person != nil {
			defer person.close()
			o.Options.Ask = person.ask
		}
	}
	a, err := in.All.Agent(ctx, c.Workspace, o)
	if err != nil {
		return outcome.Of(err), err
	}
	m.Attach(a)
	defer func() { _ = a.Close() }()
	if !c.Quiet {
		p.notice(m.Settings)
	}
	view.begin(c.sceneIn(m, a.Mode))
	return c.drive(ctx, sessions, a, input, view, settle)
}

// sceneIn is what the view is told about an agent in a workspace.
func (c *runCmd) sceneIn(m *compose.SpaceParts, mode func() policy.Mode) scene {
	return scene{
		cwd: workspace.WorkFolder, model: m.Label(), keySource: m.KeySource(), mode: mode, args: c.again(),
		tools: append([]string{}, m.Options.Inside.Tools...), // which there are is decided inside
		again: c.Store != stores.InMemory && m.Lasting(),
	}
}
