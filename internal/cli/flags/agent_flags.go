package flags

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// AgentFlags say what an agent is made of: the flags of run, or what a client of the
// daemon asks for.
type AgentFlags struct {
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

	MCPConfigFlags
	PermissionFlags
	NoHooks   bool
	NoSandbox bool

	compactFlags
	MaxTurns     int
	MaxBudgetUSD float64

	spec *runspec.Spec // what the flags say, once it was asked for: files that they name may be pipes
}

func (c *AgentFlags) Declare(b *command.Builder) {
	b.Heading = "Model"
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "anthropic/…, openai/…, ollama/… or scripted/PATH; default $HOLDFAST_MODEL.")
	b.Flag(&c.FallbackModel, "fallback-model", "", "PROVIDER/MODEL", "Answers for the rest of a turn when the model stays unavailable.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's address; default ANTHROPIC_BASE_URL or OPENAI_BASE_URL.")
	b.Flag(&c.MaxTokens, "max-tokens", "", "N", "Bound of one answer, in tokens.")
	b.Flag(&c.Effort, "effort", "", "LEVEL", "How much to think: low, medium or high.", "low", "medium", "high")
	b.Heading = "Folders"
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Work in this folder; default the current one.")
	b.Flag(&c.Init, "init", "", "", "Tell Setup hooks to prepare the folder, first.")
	b.Flag(&c.Maintenance, "maintenance", "", "", "Tell Setup hooks to tidy up, first.")
	b.Flag(&c.Agents, "agents", "", "JSON", "Kinds of sub-agents by name, stronger than those of files.")
	b.Flag(&c.AddDir, "add-dir", "", "FOLDER", "Another folder that the tools may touch; may be repeated.")
	b.Flag(&c.EnvFrom, "env-from", "", "NAME=REF", "Get this variable from env:NAME, keyring:SERVICE/USER or command:PROGRAM when the run starts, also after a restart of the daemon; may be repeated.")
	b.Heading = "System prompt"
	b.Flag(&c.SystemPrompt, "system-prompt", "", "TEXT", "Replace the system prompt.")
	b.Flag(&c.SystemPromptFile, "system-prompt-file", "", "FILE", "Replace the system prompt by a file's text.")
	b.Flag(&c.AppendSystemPrompt, "append-system-prompt", "", "TEXT", "Add to the system prompt.")
	b.Flag(&c.AppendSystemPromptFile, "append-system-prompt-file", "", "FILE", "Add a file's text to the system prompt.")
	b.Flag(&c.NoContextFiles, "no-context-files", "", "", "Read no AGENTS.md and no CLAUDE.md, but those of the administrator.")
	b.Heading = ""
	b.Include(&c.MCPConfigFlags)
	b.Include(&c.PermissionFlags)
	b.Heading = "Permission"
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Refused where the administrator's settings have some.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands without the kernel sandbox. Refused where the administrator's settings want it.")
	b.Heading = ""
	b.Include(&c.compactFlags)
	b.Heading = "Limits"
	b.Flag(&c.MaxTurns, "max-turns", "", "N", "Bound of model calls, and of those of each sub-agent.")
	b.Flag(&c.MaxBudgetUSD, "max-budget-usd", "", "USD", "Bound of what the session may cost in all, with its sub-agents. It stays with the session: inf lifts it.")
	b.Exclusive("init", "maintenance")
}

// compactFlags say when a long transcript is made smaller; settings say it better.
type compactFlags struct {
	NoCompact    bool
	CompactItems int
}

func (c *compactFlags) Declare(b *command.Builder) {
	b.Heading = "Limits"
	b.Flag(&c.NoCompact, "no-compact", "", "", "Never compact the transcript by itself.")
	b.Flag(&c.CompactItems, "compact-items", "", "N", "Compact the transcript when it has more than so many items.")
	b.Exclusive("no-compact", "compact-items")
}

// AgentSpec is what the flags say about a run in cwd, as data.
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
		Permissions:  runspec.Permissions{Mode: c.PermissionMode, Allow: c.AllowedTools, Deny: c.DisallowedTools, OnAsk: c.OnAsk},
		Sandbox:      runspec.Sandbox{Off: c.NoSandbox},
		Hooks:        runspec.Hooks{Off: c.NoHooks, Setup: c.setup()},
		MCP:          runspec.MCP{Strict: c.StrictMCPConfig},
		Limits:       runspec.Limits{MaxTurns: c.MaxTurns, MaxBudgetUSD: c.MaxBudgetUSD},
		Compaction:   runspec.Compaction{Off: c.NoCompact, Items: c.CompactItems},
	}
	if c.CompactItems < 0 || c.CompactItems > 0 && c.CompactItems < 4 {
		return nil, outcome.Invalid("--compact-items: less than 4 items cannot be compacted", "leave it out: the model's context is the bound")
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
	if s.Permissions.Settings, err = SettingsFiles(p, c.Settings); err != nil {
		return nil, err
	}
	if s.MCP.Configs, err = SettingsFiles(p, c.MCPConfig); err != nil {
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
			return nil, outcome.Invalid(fmt.Sprintf("%s: %s is empty", f.flag, f.file), "write the prompt into it, or leave out the flag")
		}
	}
	return s, s.ReadPipes()
}

// setup is the trigger of the Setup event.
func (c *AgentFlags) setup() string {
	switch {
	case c.Init:
		return "init"
	case c.Maintenance:
		return "maintenance"
	}
	return ""
}

// Composed is what an agent of the flags is composed from.
func (c *AgentFlags) Composed(p *command.Program, cwd string) (*compose.Request, error) {
	spec, err := c.AgentSpec(p, cwd)
	if err != nil {
		return nil, err
	}
	return &compose.Request{Env: p.Environment(), Spec: spec, Cwd: cwd}, nil
}

func readFlagFile(p *command.Program, flag, name string) (string, error) {
	if !filepath.IsAbs(name) {
		wd, err := p.Getwd()
		if err != nil {
			return "", err
		}
		name = filepath.Join(wd, name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", &outcome.Failure{Message: fmt.Sprintf("%s: %v", flag, err), Result: outcome.Usage, Cause: err}
	}
	return string(b), nil
}

// LoadSettings reads what applies in a run, flags included.
func (c *AgentFlags) LoadSettings(p *command.Program, cwd string) (*settings.Settings, error) {
	r, err := c.Composed(p, cwd)
	if err != nil {
		return nil, err
	}
	return compose.Settings(r)
}
