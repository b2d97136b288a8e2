// Package flags has sets of flags that several command groups use. It also reads the sessions,
// settings and agent options that these flags select. The file flags.go declares them.
//
//	type showCmd struct {
//		flags.SessionArg
//		command.StoreFlags
//	}
package flags

import (
	"cmp"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/runspec"
)

// AgentFlags describe the agent. They are flags of run, and mcp serve has some of them too.
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
	PluginDir   []string

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

	spec *runspec.Spec // the spec from the flags; read only once, because a file that a flag names may be a pipe
}

func (c *AgentFlags) Declare(b *command.Builder) {
	b.Heading = "Model"
	b.Flag(&c.Model, "model", "m", "PROVIDER/MODEL", "The model: anthropic/…, openai/…, openrouter/…, ollama/… or another provider, or scripted/PATH. Default: $HOLDFAST_MODEL, then model in the settings.")
	b.Flag(&c.FallbackModel, "fallback-model", "", "PROVIDER/MODEL", "The fallback model, used for the rest of the turn if the model stays unavailable.")
	b.Flag(&c.BaseURL, "base-url", "", "URL", "The provider's base URL. Default: $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL.")
	b.Flag(&c.MaxTokens, "max-tokens", "", "N", "Maximum length of one answer, in tokens.")
	b.Flag(&c.Effort, "effort", "", "LEVEL", "Reasoning effort: low, medium or high.", "low", "medium", "high")
	b.Heading = "Folders"
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The working folder. Default: the current folder.")
	b.Flag(&c.Init, "init", "", "", "Run Setup hooks with the trigger init before the prompt.")
	b.Flag(&c.Maintenance, "maintenance", "", "", "Run Setup hooks with the trigger maintenance before the prompt.")
	b.Flag(&c.Agents, "agents", "", "JSON", "Sub-agent definitions as JSON. They override definitions in files.")
	b.Flag(&c.AddDir, "add-dir", "", "FOLDER", "An additional folder that tools may use. Repeatable.")
	b.Flag(&c.PluginDir, "plugin-dir", "", "FOLDER", "A plugin's folder, in Claude Code's layout. Its hooks and MCP servers run without asking. Repeatable.")
	b.Flag(&c.EnvFrom, "env-from", "", "NAME=REF", "Read this variable from env:NAME, keyring:SERVICE/USER or command:PROGRAM when the run starts, also after a daemon restart. Repeatable.")
	b.Heading = "System prompt"
	b.Flag(&c.SystemPrompt, "system-prompt", "", "TEXT", "Replace the system prompt with this text.")
	b.Flag(&c.SystemPromptFile, "system-prompt-file", "", "FILE", "Replace the system prompt with the text of this file.")
	b.Flag(&c.AppendSystemPrompt, "append-system-prompt", "", "TEXT", "Append this text to the system prompt.")
	b.Flag(&c.AppendSystemPromptFile, "append-system-prompt-file", "", "FILE", "Append the text of this file to the system prompt.")
	b.Flag(&c.NoContextFiles, "no-context-files", "", "", "Do not read AGENTS.md and CLAUDE.md files, except the administrator's.")
	b.Heading = ""
	b.Include(&c.MCPConfigFlags)
	b.Include(&c.PermissionFlags)
	b.Include(&c.compactFlags)
	b.Heading = "Limits"
	b.Flag(&c.MaxTurns, "max-turns", "", "N", "Maximum number of model calls for the agent, and for each sub-agent.")
	b.Flag(&c.MaxBudgetUSD, "max-budget-usd", "", "USD", "Maximum total cost of the session in USD, including sub-agents. Stored with the session; use inf to remove it.")
	b.Exclusive("init", "maintenance")
}

// compactFlags control when a long transcript is compacted. Settings offer more options.
type compactFlags struct {
	NoCompact    bool
	CompactItems int
}

func (c *compactFlags) Declare(b *command.Builder) {
	b.Heading = "Limits"
	b.Flag(&c.NoCompact, "no-compact", "", "", "Turn off automatic compaction.")
	b.Flag(&c.CompactItems, "compact-items", "", "N", "Compact the transcript when it has more items than this.")
	b.Exclusive("no-compact", "compact-items")
}

// MCPConfigFlags add MCP servers on the command line.
type MCPConfigFlags struct {
	MCPConfig       []string
	StrictMCPConfig bool
}

func (c *MCPConfigFlags) Declare(b *command.Builder) {
	b.Heading = "MCP servers"
	b.Flag(&c.MCPConfig, "mcp-config", "", "FILE|JSON", "Additional MCP servers, in the format of .mcp.json. Repeatable.")
	b.Flag(&c.StrictMCPConfig, "strict-mcp-config", "", "", "Use only the MCP servers of --mcp-config. Without --mcp-config, use none.")
}

// PermissionFlags set what an agent may do.
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
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode: default, plan, auto, acceptEdits, dontAsk, bypassPermissions, restricted or silent.")
	b.Flag(&c.AllowedTools, "allowed-tools", "", "RULES", "Tools and rules to allow without asking, such as Read,Bash(git log:*). Repeatable.")
	b.Alias("allowed-tools", "allowedTools")
	b.Flag(&c.DisallowedTools, "disallowed-tools", "", "RULES", "Rules to deny, or names of tools to hide from the model. Repeatable.")
	b.Alias("disallowed-tools", "disallowedTools")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Additional settings, as a file or JSON. They override project and user settings. Repeatable.")
	b.Flag(&c.OnAsk, "on-ask", "", "WAY", "What to do when no terminal can ask: deny the call (default), wait for an answer from another client, or fail and keep the approval pending.", "deny", "wait", "fail")
	b.Flag(&c.AskTimeout, "ask-timeout", "", "TIME", "Deny an approval that is not answered within this time, such as 10m.")
	b.Flag(&c.NoHooks, "no-hooks", "", "", "Run no hooks. Not allowed if the administrator's settings define hooks.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands without the kernel sandbox. Not allowed if the administrator's settings require it.")
}

// SettingsFlags select the settings that a decision uses.
type SettingsFlags struct {
	CWD            string
	PermissionMode string
	Settings       []string

	SettingsHelp string // help text of --settings; "" is the usual one
}

func (c *SettingsFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The session's folder. Default: the current folder.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode. Default: the mode in the settings.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", cmp.Or(c.SettingsHelp, "Additional settings, as a file or JSON. They override project and user settings. Repeatable."))
}

// SettingsLayerFlags select the settings file to change.
type SettingsLayerFlags struct {
	User, Project, Local bool
	CWD                  string
}

func (f *SettingsLayerFlags) Declare(b *command.Builder) {
	b.Flag(&f.Local, "local", "", "", "Use .holdfast/settings.local.json: your settings for this project. The default.")
	b.Flag(&f.Project, "project", "", "", "Use .holdfast/settings.json: the project's settings, shared by everyone who works on it.")
	b.Flag(&f.User, "user", "", "", "Use your own settings, which apply in every project.")
	b.Flag(&f.CWD, "cwd", "", "FOLDER", "The project's folder. Default: the current folder.")
	b.Exclusive("local", "project", "user")
}

// SessionArg is the argument that names one session.
type SessionArg struct {
	Session string
}

func (c *SessionArg) Declare(b *command.Builder) {
	b.Arg(&c.Session, "session", "A session: an id, its first or last characters, or a title.")
}
