// Package flags has the sets of flags that several command groups share, and reads what they
// name: sessions, settings, and what an agent is made of. Its file flags.go declares them.
//
//	type showCmd struct {
//		flags.SessionArg
//		command.StoreFlags
//	}
package flags

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/runspec"
)

// AgentFlags say what an agent is made of: the flags of run, some of which mcp serve has.
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

	compactFlags
	MaxTurns     int
	MaxBudgetUSD float64

	spec *runspec.Spec // what the flags say, once it was asked for: files that they name may be pipes
}

func (c *AgentFlags) Declare(b *command.Builder) {
	b.Heading = "Model"
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "anthropic/…, openai/…, openrouter/…, ollama/… or another provider, or scripted/PATH; default $HOLDFAST_MODEL, then model of the settings.")
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

// MCPConfigFlags name servers on the command line.
type MCPConfigFlags struct {
	MCPConfig       []string
	StrictMCPConfig bool
}

func (c *MCPConfigFlags) Declare(b *command.Builder) {
	b.Heading = "MCP servers"
	b.Flag(&c.MCPConfig, "mcp-config", "", "FILE|JSON", "More MCP servers, in the form of .mcp.json; may be repeated.")
	b.Flag(&c.StrictMCPConfig, "strict-mcp-config", "", "", "No other servers than those of --mcp-config; alone: none.")
}

// PermissionFlags are the flags that say what an agent may do.
type PermissionFlags struct {
	PermissionMode  string
	AllowedTools    []string
	DisallowedTools []string
	Settings        []string
	OnAsk           string
	AskTimeout      time.Duration
	NoHooks         bool
	NoSandbox       bool
}

func (c *PermissionFlags) Declare(b *command.Builder) {
	b.Heading = "Permission"
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "default, plan, auto, acceptEdits, dontAsk, bypassPermissions, restricted or silent.")
	b.Flag(&c.AllowedTools, "allowed-tools", "", "RULES", "What runs without asking: tools and rules, Read,Bash(git log:*); may be repeated.")
	b.Alias("allowed-tools", "allowedTools")
	b.Flag(&c.DisallowedTools, "disallowed-tools", "", "RULES", "What is denied: rules; and tools that the model does not get, by name; may be repeated.")
	b.Alias("disallowed-tools", "disallowedTools")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
	b.Flag(&c.OnAsk, "on-ask", "", "WAY", "Without a terminal: deny what would be asked (default), wait for an answer from elsewhere, or fail and leave the question open.", "deny", "wait", "fail")
	b.Flag(&c.AskTimeout, "ask-timeout", "", "TIME", "How long a question waits before the answer is no, such as 10m.")
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Refused where the administrator's settings have some.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands without the kernel sandbox. Refused where the administrator's settings want it.")
}

// SettingsFlags say which settings judge.
type SettingsFlags struct {
	CWD            string
	PermissionMode string
	Settings       []string
}

func (c *SettingsFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder the session would work in; default the current one.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode; default what settings say.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
}

// SettingsLayerFlags say in which settings file something is written down.
type SettingsLayerFlags struct {
	User, Project, Local bool
	CWD                  string
}

func (f *SettingsLayerFlags) Declare(b *command.Builder) {
	b.Flag(&f.Local, "local", "", "", "In .holdfast/settings.local.json: yours, in this project; the default.")
	b.Flag(&f.Project, "project", "", "", "In .holdfast/settings.json: for all who work on the project.")
	b.Flag(&f.User, "user", "", "", "In your own settings: yours, in every project.")
	b.Flag(&f.CWD, "cwd", "", "FOLDER", "The project's folder; default the current one.")
	b.Exclusive("local", "project", "user")
}

// SessionArg names one session on the command line.
type SessionArg struct {
	Session string
}

func (c *SessionArg) Declare(b *command.Builder) {
	b.Arg(&c.Session, "session", "An id, a title, or the beginning of an id.")
}
