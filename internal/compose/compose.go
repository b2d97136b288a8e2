// Package compose builds an agent from its parts: settings, policy, sandbox, hooks, MCP servers,
// tools, models, telemetry. It knows no flags and prints nothing. Notices for the user go to
// Env.Notify.
//
//	runspec.Spec ─► settings ─► models
//	                   └──────► tools (sandbox, hooks, kits) ─► agent.Options ─► agent.New ─► Attach
//
// Package holdfast uses it, and so does all code that runs agents for clients.
package compose

import (
	"context"
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/tool"
)

// Request describes an agent. Spec and Env are required.
type Request struct {
	Env  *env.Env
	Spec *runspec.Spec
	Cwd  string // the working folder, absolute

	// Values of a host program.
	Model, Fallback model.Model        // models to use instead of those in the spec
	Tools           []tool.Tool        // additional tools
	Preloaded       *settings.Portable // settings already read by another process
	Telemetry       *otel.Telemetry    // the telemetry that several agents share; if nil, the environment configures it

	// Loading is called before a session is resumed, with the size of its payloads in bytes; it may
	// be nil.
	Loading func(bytes int64)

	// RecordSpec is recorded as the run's description when its first turn begins. If it is nil, no
	// description is recorded.
	RecordSpec *runspec.Spec

	InContainer  bool // the whole process is in a container
	NoShell      bool // no shell is available, so there is no Bash tool
	NoBackground bool // no background tasks
	Verbose      bool // notices also report what the sandbox cannot do
}

// Parts are the parts of an agent.
type Parts struct {
	Models   *models.Models
	Settings *settings.Settings
	Tools    *tools.Toolbox
	Options  agent.Options // options without a session and without callbacks for requests

	attach func(*agent.Agent)
	flush  func() // sends the remaining telemetry
}

// Make creates an agent's parts. The caller closes them after the agent.
func Make(ctx context.Context, r *Request) (m *Parts, err error) {
	m = &Parts{}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	e, spec := r.Env, r.Spec
	if m.Settings, err = Settings(r); err != nil {
		return m, err
	}
	if m.Models, err = r.models(ctx, m.Settings); err != nil {
		return m, err
	}
	m.Tools, err = tools.New(&tools.Options{
		Env: e, Settings: m.Settings, Spec: spec, Cwd: r.Cwd, Model: r.Model, HostTools: r.Tools, Contained: r.InContainer, NoShell: r.NoShell,
		Foreground: r.NoBackground, Verbose: r.Verbose,
	})
	if err != nil {
		return m, err
	}
	box := m.Tools
	if err = box.Connect(ctx); err != nil {
		return m, err
	}
	if err = checkHooks(spec, m.Settings); err != nil {
		return m, err
	}
	mask, err := m.Settings.Masker()
	if err != nil {
		return m, err
	}
	compact, err := compaction(e, spec, m.Settings)
	if err != nil {
		return m, err
	}
	style, err := styleText(e, m.Settings)
	switch {
	case err != nil && r.Preloaded != nil: // the user's styles are not in a container
		e.Warn("%v", err)
	case err != nil:
		return m, err
	}
	status, profile := box.Isolation().Status()
	m.Options = agent.Options{
		System: SystemPrompt(spec, r.Cwd, style), Model: agent.ModelOptions{
			Fallback:  m.Models.Fallback,
			MaxTokens: spec.ModelOptions.MaxTokens,
			Effort:    spec.ModelOptions.Effort,
			Retry:     retries(m.Settings),
		},
		Permissions: agent.Permissions{
			Config:      box.Permissions,
			DefaultMode: m.Settings.Mode.Origin.Layer != layernames.Flag,
			AskTimeout:  m.Settings.AskTimeout.Value,
			Sandbox:     status,
			Profile:     profile,
		}, Tools: box.Registry, Background: box.Background,
		Subagents: box.Subagents(), Hooks: agent.Hooks{Setup: spec.Hooks.Setup}, Mask: mask,
		Limits: agent.Limits{MaxTurns: spec.Limits.MaxTurns, MaxBudgetUSD: budget(spec)}, Clock: e.Clock, Compact: compact,
	}
	if box.Telemetry, m.flush, err = telemetry(ctx, r, &m.Options); err != nil {
		return m, err
	}
	m.Options.Instructions, m.Options.Expand = box.AgentInstructions(), box.Expand
	m.Options.LoopObservers = append(m.Options.LoopObservers, box)
	m.Options.RestoreDir, m.Options.OnLeaseLost = box.RestoreDir, box.EndServers
	box.WatchFiles(&m.Options)
	attachHooks := box.Hooks().Attach(&m.Options)
	m.attach = func(a *agent.Agent) {
		box.Attach(a)
		attachHooks(a)
	}
	return m, nil
}

// models returns the host's models, or those of the spec.
func (r *Request) models(ctx context.Context, s *settings.Settings) (*models.Models, error) {
	if r.Model != nil {
		return &models.Models{Primary: r.Model, Fallback: r.Fallback, KeySource: "none"}, nil
	}
	return models.Open(ctx, r.Env, models.Choice{Model: r.Spec.Model, Fallback: r.Spec.ModelOptions.Fallback, BaseURL: r.Spec.ModelOptions.BaseURL}, s)
}

// budget returns the spec's cost limit in the agent's form.
func budget(spec *runspec.Spec) float64 {
	if spec.Limits.MaxBudgetUSD < 0 {
		return math.Inf(1)
	}
	return spec.Limits.MaxBudgetUSD
}

// Notices returns a list of everything that has no effect in the run, with the reasons.
func (m *Parts) Notices() []env.Notice {
	return append(SettingsNotices(m.Settings), m.Tools.Notices()...)
}

// Attach connects the parts to their agent.
func (m *Parts) Attach(a *agent.Agent) { m.attach(a) }

// UseStore sets the store of the agent's session.
func (m *Parts) UseStore(s *stores.Store) { m.Tools.Isolation().UseStore(s) }

// retries returns how failed model calls are retried.
func retries(s *settings.Settings) agent.Retry {
	r := agent.Retry{After: s.Models.MaxRetryAfter.Value}
	if n := s.Models.Retries.Value; n != nil {
		r.Max = *n
		if r.Max == 0 {
			r.Max = -1 // no retries
		}
	}
	return r
}

// Close stops everything that the parts still run.
func (m *Parts) Close() {
	if m.flush != nil {
		m.flush()
	}
	if m.Tools != nil {
		m.Tools.Close()
	}
}

// checkHooks rejects --no-hooks if managed hooks would still run.
func checkHooks(spec *runspec.Spec, s *settings.Settings) error {
	if !spec.Hooks.Disabled {
		return nil
	}
	i := slices.IndexFunc(s.Hooks, func(h settings.Hook) bool { return h.Status == settings.HookTrusted })
	if i < 0 {
		return nil
	}
	return &outcome.Failure{
		Message: "--no-hooks: the administrator's settings have hooks (" + settings.OriginText(s.Hooks[i].Origin) + ")",
		Advice:  "omit --no-hooks", Result: outcome.Denied,
	}
}
