package cli

import (
	"context"
	"math"
	"os"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/logpipe"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/workspace"
)

// space is a workspace that an agent is to work in.
type space struct {
	all      *workspace.Workspaces
	settings *workspace.Settings
	project  string // the folder of this machine
	kind     string // of the agent
}

// openSpace opens a workspace for an agent of a kind; "" is the one of its settings.
// The caller closes it.
func (p *Program) openSpace(ctx context.Context, slug, kind string) (*space, error) {
	if err := workspace.CheckSlug(slug); err != nil {
		return nil, err
	}
	all, err := p.spaces(nil)
	if err != nil {
		return nil, err
	}
	s, err := all.Get(ctx, slug)
	if err != nil {
		_ = all.Close()
		return nil, err
	}
	return &space{all, s, all.ProjectFolder(s), orElse(kind, s.Agent.Kind)}, nil
}

func (s *space) close() { _ = s.all.Close() }

// own reports whether the agent is our own loop.
func (s *space) own() bool { return s.kind == workspace.KindHoldfast }

// spaceParts are what an agent in a workspace is made of.
//
//	flags ─► settings of the host ─┬─ our own loop: models here, all else told to the process inside
//	                               └─ another agent: permissions, hooks and questions here
type spaceParts struct {
	in      *space
	rules   *settings.Settings
	models  *runModels // of our own loop; nil otherwise
	hooks   *hooks
	options workspace.AgentOptions // without a session, and without anybody to ask
	told    func()
}

// makeIn makes the parts of an agent in a workspace. The caller closes them, after the
// agent.
func (c *agentFlags) makeIn(ctx context.Context, p *Program, in *space) (m *spaceParts, err error) {
	m = &spaceParts{in: in, hooks: &hooks{}}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if m.rules, err = c.settings(p, in.project); err != nil {
		return m, err
	}
	mask, err := m.rules.Masker()
	if err != nil {
		return m, err
	}
	m.options = workspace.AgentOptions{
		Options: agent.Options{AskTimeout: m.rules.AskTimeout.Value, Mask: mask, MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD, Clock: p.Now, Retry: retries(m.rules)},
		Environ: p.Env, Kind: in.kind,
	}
	if _, m.told, err = p.telemetry(ctx, &m.options.Options); err != nil {
		return m, err
	}
	if in.own() {
		return m, c.ownIn(p, m)
	}
	return m, c.guestIn(ctx, p, m)
}

// ownIn is our own loop: it reads the folder's settings inside, and is told the others.
func (c *agentFlags) ownIn(p *Program, m *spaceParts) (err error) {
	flags := *c
	if flags.Model == "" && flags.model == nil {
		flags.Model = m.in.settings.Model
	}
	if m.models, err = flags.models(p, m.rules); err != nil {
		return err
	}
	m.options.Model, m.options.Options.Fallback = m.models.primary, m.models.fallback
	spec := &m.options.Inside
	*spec = logpipe.Spec{
		Cwd: workspace.WorkFolder, Tools: c.OnlyTools, Mode: c.PermissionMode, Allow: c.AllowedTools, Deny: c.DisallowedTools,
		AskTimeout: c.AskTimeout, NoHooks: c.NoHooks, MaxTokens: c.MaxTokens, Effort: c.Effort,
		MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD,
	}
	if math.IsInf(spec.MaxBudgetUSD, 1) {
		spec.MaxBudgetUSD = -1 // what JSON can say: no bound
	}
	if spec.System, spec.AppendSystem, err = c.prompts(p); err != nil {
		return err
	}
	files, err := p.settingsFiles(c.Settings)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !isInline(f) {
			text, err := os.ReadFile(f)
			if err != nil {
				return usage("--settings: "+err.Error(), "")
			}
			f = string(text)
		}
		spec.Settings = append(spec.Settings, f)
	}
	more, err := c.compactSettings(p)
	if err != nil {
		return err
	}
	spec.Settings = append(spec.Settings, more...)
	o, err := p.settingsOptions(m.in.project, nil)
	if err != nil {
		return err
	}
	spec.Given, err = settings.Give(o)
	return err
}

// guestIn is an agent of another make, which is judged and held back here.
func (c *agentFlags) guestIn(ctx context.Context, p *Program, m *spaceParts) (err error) {
	o := &m.options.Options
	if o.Permissions, err = m.rules.Policy(); err != nil {
		return err
	}
	o.Permissions.Folders = []string{m.in.project}
	m.options.ModelName = c.Model
	if _, o.System, err = c.prompts(p); err != nil {
		return err
	}
	if err := c.checkHooks(m.rules); err != nil {
		return err
	}
	if m.hooks, err = p.hooks(&hooksNeed{settings: m.rules, folders: []string{m.in.project}}); err != nil {
		return err
	}
	m.hooks.attach(o)
	return nil
}

// prompts are the system prompt that replaces the usual one, and what is added to it.
func (c *agentFlags) prompts(p *Program) (system, more string, err error) {
	system, more = c.SystemPrompt, c.AppendSystemPrompt
	if c.SystemPromptFile != "" {
		if system, err = p.readFlagFile("--system-prompt-file", c.SystemPromptFile); err != nil {
			return "", "", err
		}
	}
	if c.AppendSystemPromptFile != "" {
		more, err = p.readFlagFile("--append-system-prompt-file", c.AppendSystemPromptFile)
	}
	return system, more, err
}

// attached tells the hooks whose transcript they are to have.
func (m *spaceParts) attached(a *workspace.Agent) {
	if m.hooks.mirror != nil {
		m.hooks.mirror.snapshot = a.Snapshot
	}
}

// label is the model as people read it.
func (m *spaceParts) label() string {
	if m.models != nil {
		return m.models.primary.Info().String()
	}
	name := orElse(m.options.ModelName, m.in.settings.Model)
	if name == "" || m.in.kind != m.in.settings.Agent.Kind && m.options.ModelName == "" {
		return m.in.kind
	}
	return m.in.kind + "/" + name
}

// keySource says where a key of the model came from.
func (m *spaceParts) keySource() string {
	if m.models != nil {
		return m.models.keySource
	}
	return "none"
}

// lasting reports whether a later command can go on with the model.
func (m *spaceParts) lasting() bool {
	return m.models == nil || m.models.primary.Info().Provider != "scripted"
}

func (m *spaceParts) close() {
	if m.told != nil {
		m.told()
	}
	if m.hooks != nil {
		m.hooks.close()
	}
}
