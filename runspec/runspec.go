// Package runspec defines Spec, the JSON description of a run.
//
//	flags, HTTP, WebSocket, MCP, a Go program ─► Spec ─► the run's first record ─► agent
//	                                                      └─► the same agent after a restart
//
// A [Spec] has everything that a caller can set for a run, so that any run can be built again from
// its record. It has no secrets: it has the names of variables and the places of their values. The
// output of a run (format, verbosity) and its store are not part of it.
//
//	spec := runspec.Spec{Model: "anthropic/claude-sonnet-4-6", Cwd: dir, Prompt: "fix the tests"}
//	if err := spec.Check(); err != nil { … }
//
// The package only describes runs. Package holdfast and the daemon start them.
package runspec

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Spec describes one run. If a field is zero, the settings or the default apply. Before a spec is
// passed to another process, its paths must be absolute: see [Spec.Resolve].
type Spec struct {
	// Prompt is the prompt of the run. An interrupted run continues without one.
	Prompt string `json:"prompt,omitempty" jsonschema:"the prompt of the run"`
	// Images are images for the model, after the text of the prompt.
	Images []transcript.Media `json:"images,omitempty" jsonschema:"images for the model, with the prompt; only a run of a single agent takes them"`
	// Model is PROVIDER/MODEL.
	Model string `json:"model,omitempty" jsonschema:"PROVIDER/MODEL; overrides the models of a strategy's agents"`
	// Cwd is the folder that the agent works in.
	Cwd string `json:"cwd,omitempty" jsonschema:"the working folder, as an absolute path"`
	// AddDirs are more folders that the tools may use.
	AddDirs []string `json:"add_dirs,omitempty" jsonschema:"more folders that the tools may use, as absolute paths"`
	// PluginDirs are folders of plugins, in Claude Code's layout.
	PluginDirs []string `json:"plugin_dirs,omitempty" jsonschema:"folders of plugins, as absolute paths on the machine that runs it"`
	// Workspace is the name of the workspace whose container the agent works in, instead of Cwd.
	Workspace string    `json:"workspace,omitempty" jsonschema:"the workspace whose container the agent works in, instead of cwd"`
	Container Container `json:"container,omitzero" jsonschema:"options of the workspace's container"`
	Worktree  Worktree  `json:"worktree,omitzero" jsonschema:"work in a git worktree, on its own branch"`

	Session Session `json:"session,omitzero" jsonschema:"the session that the run belongs to"`

	// Strategy is a strategy of several agents (docs/reference/strategies.md); StrategyPath is its
	// file.
	Strategy     json.RawMessage `json:"strategy,omitempty" jsonschema:"a strategy as an object; docs/reference/strategies.md"`
	StrategyPath string          `json:"strategy_path,omitempty" jsonschema:"the file of a strategy, on the machine that runs it"`

	ModelOptions ModelOptions `json:"model_options,omitzero" jsonschema:"options of the model calls"`
	Instructions Instructions `json:"instructions,omitzero" jsonschema:"the system prompt and context files"`
	Permissions  Permissions  `json:"permissions,omitzero" jsonschema:"permissions and unattended behavior"`
	Sandbox      Sandbox      `json:"sandbox,omitzero" jsonschema:"the kernel sandbox of commands"`
	Hooks        Hooks        `json:"hooks,omitzero" jsonschema:"which hooks run"`
	MCP          MCP          `json:"mcp,omitzero" jsonschema:"MCP servers"`

	// Agents has agent definitions by name. They override the definitions in files.
	Agents json.RawMessage `json:"agents,omitempty" jsonschema:"agent definitions by name; they override those from files"`
	// Tools are the only tools that the agent has. Nil means all tools, and an empty list means no
	// tools.
	Tools []string `json:"tools,omitzero" jsonschema:"the tools of the agent; default: all, empty list: none"`

	Limits      Limits      `json:"limits,omitzero" jsonschema:"limits of the run"`
	Compaction  Compaction  `json:"compaction,omitzero" jsonschema:"when the transcript is compacted"`
	Environment Environment `json:"environment,omitzero" jsonschema:"the caller's environment, by reference"`
}

// Container has the options of the workspace's container.
type Container struct {
	// Agent is the kind of agent: holdfast, claude, codex or acp; default: the agent in the
	// workspace's settings.
	Agent string `json:"agent,omitempty" jsonschema:"holdfast, claude, codex or acp; default: the agent of the workspace's settings"`
	// Ephemeral uses a container only for this run and deletes its home folder afterward. The
	// session stays.
	Ephemeral bool `json:"ephemeral,omitempty" jsonschema:"use a container only for this run and delete its home folder afterward"`
}

// Worktree lets the agent work in a git worktree of the project.
type Worktree struct {
	Enabled bool `json:"enabled,omitempty" jsonschema:"work in a git worktree; it is removed on exit if nothing would be lost"`
	// Name is the worktree's name; default: the name of the session.
	Name string `json:"name,omitempty" jsonschema:"the worktree's name; default: the name of the session"`
}

// Session selects the session that the run belongs to. At most one of ID, Resume and Continue is
// set; without any of them a session is created.
type Session struct {
	// ID is the session to use. It is created if it does not exist.
	ID string `json:"id,omitempty" jsonschema:"the session to use; it is created if it does not exist"`
	// Resume is the id or name of an existing session.
	Resume string `json:"resume,omitempty" jsonschema:"the id or name of an existing session"`
	// Continue uses the newest session of the project.
	Continue bool `json:"continue,omitempty" jsonschema:"use the newest session of the project"`
	// Fork continues in a fork of the session and leaves the session unchanged.
	Fork bool `json:"fork,omitempty" jsonschema:"continue in a fork and leave the session unchanged"`
	// WithGrants copies the session's grants to the fork.
	WithGrants bool `json:"with_grants,omitempty" jsonschema:"with fork: copy the session's grants"`
	// ForkAt is the item to rewind to before the run.
	ForkAt string `json:"at,omitempty" jsonschema:"the item to rewind to before the run"`
	// Title is the session's title.
	Title string `json:"title,omitempty" jsonschema:"the session's title"`
	// Takeover takes the session's lease from the process that holds it.
	Takeover bool `json:"takeover,omitempty" jsonschema:"take the session from a process that holds it"`
	// NoPersist stores nothing. A daemon rejects it, because it needs the records of its runs.
	NoPersist bool `json:"no_persist,omitempty" jsonschema:"store nothing; not available in the daemon"`
}

// ModelOptions are the options of the model calls.
type ModelOptions struct {
	// Fallback is the model, PROVIDER/MODEL, that answers for the rest of a turn if the model stays
	// unavailable.
	Fallback string `json:"fallback,omitempty" jsonschema:"PROVIDER/MODEL to use for the rest of a turn when the model stays unavailable"`
	// BaseURL is the provider's address.
	BaseURL string `json:"base_url,omitempty" jsonschema:"the provider's address"`
	// MaxTokens is the maximum size of one answer, in tokens.
	MaxTokens int `json:"max_tokens,omitempty" jsonschema:"maximum size of one answer, in tokens"`
	// Effort is the amount of thinking of the model: low, medium or high.
	Effort string `json:"effort,omitempty" jsonschema:"how much the model thinks: low, medium or high"`
}

// Instructions are the model's instructions before the prompt.
type Instructions struct {
	// System replaces the system prompt.
	System string `json:"system,omitempty" jsonschema:"replaces the system prompt"`
	// AppendSystem is added to the system prompt.
	AppendSystem string `json:"append_system,omitempty" jsonschema:"added to the system prompt"`
	// NoContextFiles reads no instruction files except those of the managed settings.
	NoContextFiles bool `json:"no_context_files,omitempty" jsonschema:"read no instruction files except those of the managed settings"`
}

// Permissions are the permissions of the run, and its unattended behavior.
type Permissions struct {
	// Mode is the permission mode at the start; default: the mode in the settings.
	Mode string `json:"mode,omitempty" jsonschema:"permission mode; default: the mode of the settings"`
	// Allow and Deny are rules, such as "Bash(git log:*)"; an entry may contain several rules,
	// separated by commas.
	Allow []string `json:"allow,omitempty" jsonschema:"allow rules, such as Bash(git log:*)"`
	Deny  []string `json:"deny,omitempty" jsonschema:"deny rules; a tool name alone removes the tool"`
	// Settings are additional settings. They override the settings of the project and the user.
	// Each is an absolute path or a JSON object.
	Settings []string `json:"settings,omitempty" jsonschema:"more settings, which override project and user settings: each an absolute path or a JSON object as text"`
	// Unattended is what to do when a tool call needs approval and no one can answer: deny, wait or
	// fail.
	Unattended string `json:"on_ask,omitempty" jsonschema:"what to do when a call needs approval and no one can answer: deny, wait or fail"`
	// AskTimeout is how long an approval request waits before it is denied, such as "10m".
	AskTimeout string `json:"ask_timeout,omitempty" jsonschema:"how long an approval request waits before it is denied, such as 10m"`
}

// Sandbox configures the kernel sandbox of commands.
type Sandbox struct {
	// Disabled runs commands without the sandbox. It is an error if the managed settings require
	// the sandbox.
	Disabled bool `json:"off,omitempty" jsonschema:"run commands without the kernel sandbox; rejected if managed settings require it"`
}

// Hooks configures which hooks run.
type Hooks struct {
	// Disabled runs no hooks. It is an error if the managed settings have hooks.
	Disabled bool `json:"off,omitempty" jsonschema:"run no hooks; rejected if managed settings have hooks"`
	// Setup runs the hooks of the Setup event first, with this trigger: init or maintenance.
	Setup string `json:"setup,omitempty" jsonschema:"fire the Setup event first, with this trigger: init or maintenance"`
}

// MCP configures MCP servers.
type MCP struct {
	// Configs define more servers. Each is an absolute path or a JSON object in the format of
	// .mcp.json.
	Configs []string `json:"configs,omitempty" jsonschema:"more servers: each an absolute path or a JSON object as text, in the format of .mcp.json"`
	// Strict uses only the servers in Configs.
	Strict bool `json:"strict,omitempty" jsonschema:"use only the servers of configs"`
}

// Limits are the limits of the run.
type Limits struct {
	// MaxTurns is the maximum number of model calls; it also applies to each sub-agent.
	MaxTurns int `json:"max_turns,omitempty" jsonschema:"maximum number of model calls; it also applies to each sub-agent"`
	// MaxBudgetUSD is the budget of the session (all its runs with their agents) in US dollars. 0 keeps the
	// session's budget, -1 removes it.
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty" jsonschema:"budget of the session (all its runs with their agents) in US dollars; default: the current budget; -1 removes it"`
}

// Compaction configures when the transcript is compacted.
type Compaction struct {
	// Disabled turns automatic compaction off.
	Disabled bool `json:"off,omitempty" jsonschema:"turn automatic compaction off"`
	// Items compacts the transcript when it has more items than this.
	Items int `json:"items,omitempty" jsonschema:"compact the transcript when it has more items than this"`
}

// Environment describes the caller's environment by reference. It never has a value.
type Environment struct {
	// Variables are the names of the variables that the caller passed. A process that builds the
	// run again without the caller looks for their values in References and in its own environment,
	// and reports the missing ones.
	Variables []string `json:"variables,omitempty" jsonschema:"names of the variables that the caller passed"`
	// References says where to read the value of each variable: env:NAME, keyring:SERVICE/USER or
	// command:PROGRAM ARGUMENTS.
	References map[string]string `json:"from,omitempty" jsonschema:"where to read the value of each variable: env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS"`
}
