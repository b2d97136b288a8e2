package cli

import (
	"math"
	"strings"

	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// spec is the run that the flags describe, in a form that does not depend on this process. Its
// session is left for the caller, who knows which one is meant.
func (c *runCmd) spec(p *Program, cwd string, input []transcript.Part) (runspec.Spec, error) {
	s := runspec.Spec{
		Model: orElse(c.Model, p.env("HOLDFAST_MODEL")), Cwd: cwd, Workspace: c.Workspace,
		Container:    runspec.Container{Agent: c.Agent, Ephemeral: c.Ephemeral},
		Worktree:     runspec.Worktree{Enabled: c.Worktree.wanted, Name: c.Worktree.name},
		ModelOptions: runspec.ModelOptions{Fallback: c.FallbackModel, BaseURL: c.BaseURL, MaxTokens: c.MaxTokens, Effort: c.Effort},
		Permissions: runspec.Permissions{
			Mode: c.PermissionMode, Allow: c.AllowedTools, Deny: c.DisallowedTools, Settings: c.Settings, OnAsk: c.OnAsk,
		},
		Sandbox:    runspec.Sandbox{Off: c.NoSandbox},
		Hooks:      runspec.Hooks{Off: c.NoHooks, Setup: c.setup()},
		MCP:        runspec.MCP{Configs: c.MCPConfig, Strict: c.StrictMCPConfig},
		Agents:     []byte(c.Agents),
		Tools:      c.OnlyTools,
		Limits:     runspec.Limits{MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD},
		Compaction: runspec.Compaction{Off: c.NoCompact, Items: c.CompactItems},
	}
	if s.Workspace != "" { // its settings may name a model, and it has the folder
		s.Cwd, s.Model = "", c.Model
	}
	if c.AskTimeout > 0 {
		s.Permissions.AskTimeout = c.AskTimeout.String()
	}
	if math.IsInf(s.Limits.MaxBudgetUSD, 1) {
		s.Limits.MaxBudgetUSD = -1 // JSON has no infinity
	}
	for _, part := range input {
		if text, ok := part.(transcript.Text); ok {
			s.Prompt += text.Text
		}
	}
	for _, dir := range c.AddDir {
		abs, err := p.folder(dir)
		if err != nil {
			return s, err
		}
		s.AddDirs = append(s.AddDirs, abs)
	}
	var err error
	if s.Environment.From, err = c.references(); err != nil {
		return s, err
	}
	if s.Instructions.System, s.Instructions.AppendSystem, err = c.prompts(p); err != nil {
		return s, err
	}
	s.Instructions.NoContextFiles = c.NoContextFiles
	wd, err := p.Getwd()
	if err != nil {
		return s, err
	}
	return s, s.Resolve(wd)
}

// specFlags are the flags that a spec stands for.
func specFlags(s *runspec.Spec) (agentFlags, error) {
	wait, err := s.Permissions.Timeout()
	c := agentFlags{
		Model: s.Model, FallbackModel: s.ModelOptions.Fallback, BaseURL: s.ModelOptions.BaseURL, MaxTokens: s.ModelOptions.MaxTokens,
		Effort: s.ModelOptions.Effort, CWD: s.Cwd, AddDir: s.AddDirs, Init: s.Hooks.Setup == "init", Maintenance: s.Hooks.Setup == "maintenance",
		Agents: string(s.Agents), SystemPrompt: s.Instructions.System, AppendSystemPrompt: s.Instructions.AppendSystem,
		NoContextFiles: s.Instructions.NoContextFiles, mcpConfigFlags: mcpConfigFlags{MCPConfig: s.MCP.Configs, StrictMCPConfig: s.MCP.Strict},
		permissionFlags: permissionFlags{
			PermissionMode: s.Permissions.Mode, AllowedTools: s.Permissions.Allow, DisallowedTools: s.Permissions.Deny,
			Settings: s.Permissions.Settings, OnAsk: s.Permissions.OnAsk, AskTimeout: wait,
		},
		NoHooks: s.Hooks.Off, NoSandbox: s.Sandbox.Off, compactFlags: compactFlags{NoCompact: s.Compaction.Off, CompactItems: s.Compaction.Items},
		MaxTurns: s.Limits.MaxTurns, MaxBudgetUSD: s.Limits.MaxBudgetUSD, OnlyTools: s.Tools,
	}
	return c, err
}

// keyVariable is the variable that holds the key of a model's provider, or "".
func keyVariable(model string) string {
	switch kind, _, _ := strings.Cut(model, "/"); kind {
	case "anthropic":
		return "ANTHROPIC_API_KEY"
	case "openai":
		return "OPENAI_API_KEY"
	}
	return ""
}
