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
	Model         string `short:"m" placeholder:"PROVIDER/MODEL" group:"model" help:"anthropic/…, openai/…, ollama/… or scripted/PATH; default $$HOLDFAST_MODEL."`
	FallbackModel string `placeholder:"PROVIDER/MODEL" group:"model" help:"Answers for the rest of a turn when the model stays unavailable."`
	BaseURL       string `name:"base-url" placeholder:"URL" group:"model" help:"The provider's address; default ANTHROPIC_BASE_URL or OPENAI_BASE_URL."`
	MaxTokens     int    `placeholder:"N" group:"model" help:"Bound of one answer, in tokens."`
	Effort        string `placeholder:"LEVEL" enum:",low,medium,high" default:"" group:"model" help:"How much to think: low, medium or high."`

	CWD         string   `name:"cwd" placeholder:"FOLDER" group:"work" help:"Work in this folder; default the current one."`
	Init        bool     `xor:"setup" group:"work" help:"Tell Setup hooks to prepare the folder, first."`
	Maintenance bool     `xor:"setup" group:"work" help:"Tell Setup hooks to tidy up, first."`
	Agents      string   `placeholder:"JSON" group:"work" help:"Kinds of sub-agents by name, stronger than those of files."`
	AddDir      []string `sep:"none" placeholder:"FOLDER" group:"work" help:"Another folder that the tools may touch; may be repeated."`

	EnvFrom []string `sep:"none" placeholder:"NAME=REF" group:"work" help:"Get this variable from env:NAME, keyring:SERVICE/USER or command:PROGRAM when the run starts, also after a restart of the daemon; may be repeated."`

	SystemPrompt           string `placeholder:"TEXT" group:"prompt" help:"Replace the system prompt."`
	SystemPromptFile       string `placeholder:"FILE" group:"prompt" help:"Replace the system prompt by a file's text."`
	AppendSystemPrompt     string `placeholder:"TEXT" group:"prompt" help:"Add to the system prompt."`
	AppendSystemPromptFile string `placeholder:"FILE" group:"prompt" help:"Add a file's text to the system prompt."`

	NoContextFiles bool `name:"no-context-files" group:"prompt" help:"Read no AGENTS.md and no CLAUDE.md, but those of the administrator."`

	mcpConfigFlags
	permissionFlags
	NoHooks   bool `name:"no-hooks" group:"permission" help:"Run no hooks. Refused where the administrator's settings have some."`
	NoSandbox bool `name:"no-sandbox" group:"permission" help:"Run commands without the kernel sandbox. Refused where the administrator's settings want it."`

	compactFlags
	MaxTurns     int     `placeholder:"N" group:"limit" help:"Bound of model calls, and of those of each sub-agent."`
	MaxBudgetUSD float64 `name:"max-budget-usd" placeholder:"USD" group:"limit" help:"Bound of what the session may cost in all, with its sub-agents. It stays with the session: inf lifts it."`
}

// compactFlags say when a long transcript is made smaller; settings say it better.
type compactFlags struct {
	NoCompact    bool `name:"no-compact" xor:"compact" group:"limit" help:"Never compact the transcript by itself."`
	CompactItems int  `name:"compact-items" xor:"compact" placeholder:"N" group:"limit" help:"Compact the transcript when it has more than so many items."`
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
