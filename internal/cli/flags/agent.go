package flags

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// AgentSpec returns the part of the run spec that the flags describe, for a run in cwd.
func (c *AgentFlags) AgentSpec(p *command.Program, cwd string) (*runspec.Spec, error) {
	if c.spec == nil {
		spec, err := c.readSpec(p)
		if err != nil {
			return nil, err
		}
		c.spec = spec
	}
	s := *c.spec
	s.Cwd = cwd
	return &s, nil
}

func (c *AgentFlags) readSpec(p *command.Program) (*runspec.Spec, error) {
	s := &runspec.Spec{
		Model:        c.Model,
		ModelOptions: runspec.ModelOptions{Fallback: c.FallbackModel, BaseURL: c.BaseURL, MaxTokens: c.MaxTokens, Effort: c.Effort},
		Instructions: runspec.Instructions{System: c.SystemPrompt, AppendSystem: c.AppendSystemPrompt, NoContextFiles: c.NoContextFiles},
		Permissions:  runspec.Permissions{Mode: c.PermissionMode, Allow: c.AllowedTools, Deny: c.DisallowedTools, Unattended: c.OnAsk},
		Sandbox:      runspec.Sandbox{Disabled: c.NoSandbox},
		Hooks:        runspec.Hooks{Disabled: c.NoHooks, Setup: c.setupTrigger()},
		MCP:          runspec.MCP{Strict: c.StrictMCPConfig},
		Limits:       runspec.Limits{MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD},
		Compaction:   runspec.Compaction{Disabled: c.NoCompact, Items: c.CompactItems},
	}
	if c.CompactItems < 0 || c.CompactItems > 0 && c.CompactItems < 4 {
		return nil, outcome.Invalid("--compact-items must be at least 4", "omit it to use the model's context size")
	}
	if c.Agents != "" {
		s.Agents = json.RawMessage(c.Agents)
	}
	if c.AskTimeout != 0 {
		s.Permissions.AskTimeout = c.AskTimeout.String()
	}
	if math.IsInf(c.MaxBudgetUSD, 1) {
		s.Limits.MaxBudgetUSD = -1
	}
	var err error
	for _, dir := range c.AddDir {
		if dir, err = p.Folder(dir); err != nil {
			return nil, err
		}
		s.AddDirs = append(s.AddDirs, dir)
	}
	for _, dir := range c.PluginDir {
		if dir, err = p.Folder(dir); err != nil {
			return nil, err
		}
		s.PluginDirs = append(s.PluginDirs, dir)
	}
	if s.Permissions.Settings, err = p.SettingsFiles(c.Settings); err != nil {
		return nil, err
	}
	if s.MCP.Configs, err = p.SettingsFiles(c.MCPConfig); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		flag, file string
		into       *string
	}{
		{"--system-prompt-file", c.SystemPromptFile, &s.Instructions.System},
		{"--append-system-prompt-file", c.AppendSystemPromptFile, &s.Instructions.AppendSystem},
	} {
		if f.file == "" {
			continue
		}
		if *f.into, err = readFlagFile(p, f.flag, f.file); err != nil {
			return nil, err
		}
		if strings.TrimSpace(*f.into) == "" {
			return nil, outcome.Invalid(fmt.Sprintf("%s: file %s is empty", f.flag, f.file), "write the prompt into it, or omit the flag")
		}
	}
	return s, s.ReadPipes()
}

func readFlagFile(p *command.Program, flag, name string) (string, error) {
	name, err := p.Path(name)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", &outcome.Failure{Message: fmt.Sprintf("%s: %v", flag, err), Result: outcome.Usage, Cause: err}
	}
	return string(b), nil
}

// setupTrigger returns the trigger of the Setup hook event.
func (c *AgentFlags) setupTrigger() string {
	switch {
	case c.Init:
		return "init"
	case c.Maintenance:
		return "maintenance"
	}
	return ""
}

// EnvReferences returns the references in --env-from, keyed by variable.
func (c *AgentFlags) EnvReferences() (map[string]string, error) {
	var from map[string]string
	for _, pair := range c.EnvFrom {
		name, ref, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, outcome.Invalid("--env-from: "+pair+" is not NAME=REFERENCE", "use a form such as --env-from ANTHROPIC_API_KEY=keyring:SERVICE/USER")
		}
		if from == nil {
			from = map[string]string{}
		}
		from[name] = ref
	}
	return from, (&runspec.Spec{Environment: runspec.Environment{References: from}}).Check()
}

// ResolveEnv reads the values of the variables in --env-from and adds them to the program's
// environment.
func (c *AgentFlags) ResolveEnv(ctx context.Context, p *command.Program) error {
	from, err := c.EnvReferences()
	if err != nil {
		return err
	}
	if len(from) == 0 {
		return nil
	}
	e := p.Environment()
	if err := e.ResolveReferences(ctx, from); err != nil {
		return err
	}
	p.Env, p.CommandEnv = e.Vars, e.Commands
	return nil
}

// ComposeOptions returns the options for composing the agent.
func (c *AgentFlags) ComposeOptions(p *command.Program, cwd string) (*compose.Request, error) {
	spec, err := c.AgentSpec(p, cwd)
	if err != nil {
		return nil, err
	}
	return &compose.Request{Env: p.Environment(), Spec: spec, Cwd: cwd}, nil
}

// LoadSettings loads the settings of a run, including those of the flags.
func (c *AgentFlags) LoadSettings(p *command.Program, cwd string) (*settings.Settings, error) {
	r, err := c.ComposeOptions(p, cwd)
	if err != nil {
		return nil, err
	}
	return compose.Settings(r)
}
