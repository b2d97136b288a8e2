package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/runspec"
)

// agentFlags say what an agent is made of: the flags of run, or what a client of the
// daemon asks for.
type agentFlags struct {
	Model         string
	FallbackModel string
	BaseURL       string
	MaxTokens     int
	Effort        string

	CWD         string
	Init        bool
	Maintenance bool
	Agents      string
	AddDir      []string

	EnvFrom []string

	SystemPrompt           string
	SystemPromptFile       string
	AppendSystemPrompt     string
	AppendSystemPromptFile string

	NoContextFiles bool

	mcpConfigFlags
	permissionFlags
	NoHooks   bool
	NoSandbox bool

	compactFlags
	MaxTurns     int
	MaxBudgetUSD float64
}

func (c *agentFlags) declare(b *builder) {
	b.group = "Model"
	b.flag(&c.Model, "model", "m", "PROVIDER/MODEL", "anthropic/…, openai/…, ollama/… or scripted/PATH; default $HOLDFAST_MODEL.")
	b.flag(&c.FallbackModel, "fallback-model", "", "PROVIDER/MODEL", "Answers for the rest of a turn when the model stays unavailable.")
	b.flag(&c.BaseURL, "base-url", "", "URL", "The provider's address; default ANTHROPIC_BASE_URL or OPENAI_BASE_URL.")
	b.flag(&c.MaxTokens, "max-tokens", "", "N", "Bound of one answer, in tokens.")
	b.flag(&c.Effort, "effort", "", "LEVEL", "How much to think: low, medium or high.", "low", "medium", "high")
	b.group = "Folders"
	b.flag(&c.CWD, "cwd", "", "FOLDER", "Work in this folder; default the current one.")
	b.flag(&c.Init, "init", "", "", "Tell Setup hooks to prepare the folder, first.")
	b.flag(&c.Maintenance, "maintenance", "", "", "Tell Setup hooks to tidy up, first.")
	b.flag(&c.Agents, "agents", "", "JSON", "Kinds of sub-agents by name, stronger than those of files.")
	b.flag(&c.AddDir, "add-dir", "", "FOLDER", "Another folder that the tools may touch; may be repeated.")
	b.flag(&c.EnvFrom, "env-from", "", "NAME=REF", "Get this variable from env:NAME, keyring:SERVICE/USER or command:PROGRAM when the run starts, also after a restart of the daemon; may be repeated.")
	b.group = "System prompt"
	b.flag(&c.SystemPrompt, "system-prompt", "", "TEXT", "Replace the system prompt.")
	b.flag(&c.SystemPromptFile, "system-prompt-file", "", "FILE", "Replace the system prompt by a file's text.")
	b.flag(&c.AppendSystemPrompt, "append-system-prompt", "", "TEXT", "Add to the system prompt.")
	b.flag(&c.AppendSystemPromptFile, "append-system-prompt-file", "", "FILE", "Add a file's text to the system prompt.")
	b.flag(&c.NoContextFiles, "no-context-files", "", "", "Read no AGENTS.md and no CLAUDE.md, but those of the administrator.")
	b.group = ""
	b.include(&c.mcpConfigFlags)
	b.include(&c.permissionFlags)
	b.group = "Permission"
	b.flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Refused where the administrator's settings have some.")
	b.flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands without the kernel sandbox. Refused where the administrator's settings want it.")
	b.group = ""
	b.include(&c.compactFlags)
	b.group = "Limits"
	b.flag(&c.MaxTurns, "max-turns", "", "N", "Bound of model calls, and of those of each sub-agent.")
	b.flag(&c.MaxBudgetUSD, "max-budget-usd", "", "USD", "Bound of what the session may cost in all, with its sub-agents. It stays with the session: inf lifts it.")
	b.exclusive("init", "maintenance")
}

// compactFlags say when a long transcript is made smaller; settings say it better.
type compactFlags struct {
	NoCompact    bool
	CompactItems int
}

func (c *compactFlags) declare(b *builder) {
	b.group = "Limits"
	b.flag(&c.NoCompact, "no-compact", "", "", "Never compact the transcript by itself.")
	b.flag(&c.CompactItems, "compact-items", "", "N", "Compact the transcript when it has more than so many items.")
	b.exclusive("no-compact", "compact-items")
}

// agentSpec is what the flags say about a run in cwd, as data.
func (c *agentFlags) agentSpec(p *Program, cwd string) (*runspec.Spec, error) {
	s := &runspec.Spec{
		Model: c.Model, Cwd: cwd,
		ModelOptions: runspec.ModelOptions{Fallback: c.FallbackModel, BaseURL: c.BaseURL, MaxTokens: c.MaxTokens, Effort: c.Effort},
		Instructions: runspec.Instructions{System: c.SystemPrompt, AppendSystem: c.AppendSystemPrompt, NoContextFiles: c.NoContextFiles},
		Permissions:  runspec.Permissions{Mode: c.PermissionMode, Allow: c.AllowedTools, Deny: c.DisallowedTools, OnAsk: c.OnAsk},
		Sandbox:      runspec.Sandbox{Off: c.NoSandbox},
		Hooks:        runspec.Hooks{Off: c.NoHooks, Setup: c.setup()},
		MCP:          runspec.MCP{Strict: c.StrictMCPConfig},
		Limits:       runspec.Limits{MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD},
		Compaction:   runspec.Compaction{Off: c.NoCompact, Items: c.CompactItems},
	}
	if c.CompactItems < 0 || c.CompactItems > 0 && c.CompactItems < 4 {
		return nil, usage("--compact-items: less than 4 items cannot be compacted", "leave it out: the model's context is the bound")
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
		if dir, err = p.folder(dir); err != nil {
			return nil, err
		}
		s.AddDirs = append(s.AddDirs, dir)
	}
	if s.Permissions.Settings, err = p.settingsFiles(c.Settings); err != nil {
		return nil, err
	}
	if s.MCP.Configs, err = p.settingsFiles(c.MCPConfig); err != nil {
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
		if *f.into, err = p.readFlagFile(f.flag, f.file); err != nil {
			return nil, err
		}
		if strings.TrimSpace(*f.into) == "" {
			return nil, usage(fmt.Sprintf("%s: %s is empty", f.flag, f.file), "write the prompt into it, or leave out the flag")
		}
	}
	return s, nil
}

// setup is the trigger of the Setup event.
func (c *agentFlags) setup() string {
	switch {
	case c.Init:
		return "init"
	case c.Maintenance:
		return "maintenance"
	}
	return ""
}

// composed is what an agent of the flags is composed from.
func (c *agentFlags) composed(p *Program, cwd string) (*compose.Request, error) {
	spec, err := c.agentSpec(p, cwd)
	if err != nil {
		return nil, err
	}
	return &compose.Request{Env: p.environment(), Spec: spec, Cwd: cwd}, nil
}

func (p *Program) readFlagFile(flag, name string) (string, error) {
	if !filepath.IsAbs(name) {
		wd, err := p.Getwd()
		if err != nil {
			return "", err
		}
		name = filepath.Join(wd, name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", &failure{msg: fmt.Sprintf("%s: %v", flag, err), out: outcome.Usage, err: err}
	}
	return string(b), nil
}
