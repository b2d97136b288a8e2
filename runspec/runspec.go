// Package runspec describes a run as data.
//
//	flags, HTTP, WebSocket, MCP, a Go program ─► Spec ─► the run's first record ─► agent
//	                                                      └─► the same agent after a restart
//
// A [Spec] holds everything that a caller can say about a run, so a run that was started
// anywhere can be built again from its record. It holds no secrets: it names variables and
// says where their values are kept. How a run is shown (output format, verbosity) and which
// store it is in are not part of it.
//
//	spec := runspec.Spec{Model: "anthropic/claude-sonnet-4-6", Cwd: dir, Prompt: "fix the tests"}
//	if err := spec.Check(); err != nil { … }
//
// The package only describes. Package holdfast and the daemon start runs.
package runspec

import "encoding/json"

// Spec describes one run. The zero value of a field means that the settings decide, or the
// default. Paths are absolute when a spec leaves the process that made it: see [Spec.Resolve].
type Spec struct {
	// Prompt is what the agent is asked to do. A run that was interrupted continues without one.
	Prompt string `json:"prompt,omitempty" jsonschema:"what the agent is asked to do"`
	// Model is PROVIDER/MODEL.
	Model string `json:"model,omitempty" jsonschema:"PROVIDER/MODEL; overrides the models of a strategy's agents"`
	// Cwd is the folder that the agent works in.
	Cwd string `json:"cwd,omitempty" jsonschema:"the folder that the agent works in, absolute"`
	// AddDirs are more folders that the tools may use.
	AddDirs []string `json:"add_dirs,omitempty" jsonschema:"more folders that the tools may use, absolute"`
	// Workspace is the slug of the workspace whose container the agent works in, instead of Cwd.
	Workspace string    `json:"workspace,omitempty" jsonschema:"the workspace whose container the agent works in, instead of cwd"`
	Container Container `json:"container,omitzero" jsonschema:"how the workspace's container is used"`
	Worktree  Worktree  `json:"worktree,omitzero" jsonschema:"work in a git worktree, on its own branch"`

	Session Session `json:"session,omitzero" jsonschema:"the session that the run belongs to"`

	// Strategy is a strategy of several agents (docs/reference/strategies.md); StrategyPath is its file.
	Strategy     json.RawMessage `json:"strategy,omitempty" jsonschema:"a strategy as an object; docs/reference/strategies.md"`
	StrategyPath string          `json:"strategy_path,omitempty" jsonschema:"or its file, on the machine that runs it"`

	ModelOptions ModelOptions `json:"model_options,omitzero" jsonschema:"how the model is called"`
	Instructions Instructions `json:"instructions,omitzero" jsonschema:"the system prompt and context files"`
	Permissions  Permissions  `json:"permissions,omitzero" jsonschema:"what is allowed, and who is asked"`
	Sandbox      Sandbox      `json:"sandbox,omitzero" jsonschema:"the kernel sandbox of commands"`
	Hooks        Hooks        `json:"hooks,omitzero" jsonschema:"which hooks run"`
	MCP          MCP          `json:"mcp,omitzero" jsonschema:"MCP servers"`

	// Agents defines kinds of sub-agents by name. They override those of files.
	Agents json.RawMessage `json:"agents,omitempty" jsonschema:"kinds of sub-agents by name; they override those of files"`
	// Tools are the only tools that the agent has. Nil means all, empty means none.
	Tools []string `json:"tools,omitzero" jsonschema:"the only tools that the agent has; left out: all, empty: none"`

	Limits      Limits      `json:"limits,omitzero" jsonschema:"bounds of the run"`
	Compaction  Compaction  `json:"compaction,omitzero" jsonschema:"when the transcript is compacted"`
	Environment Environment `json:"environment,omitzero" jsonschema:"the caller's environment, by reference"`
}

// Container says how a workspace's container is used.
type Container struct {
	// Agent is the kind of agent: holdfast, claude, codex or acp. "" is that of the workspace's settings.
	Agent string `json:"agent,omitempty" jsonschema:"holdfast, claude, codex or acp; left out: that of the workspace's settings"`
	// Ephemeral uses a container for this run alone, whose home is deleted with it. The session stays.
	Ephemeral bool `json:"ephemeral,omitempty" jsonschema:"use a container for this run alone, whose home is deleted with it"`
}

// Worktree has the agent work in a git worktree of the project.
type Worktree struct {
	Enabled bool `json:"enabled,omitempty" jsonschema:"work in a git worktree; it is removed on exit if nothing would be lost"`
	// Name is the worktree's name; "" names it after the session.
	Name string `json:"name,omitempty" jsonschema:"the worktree's name; left out: named after the session"`
}

// Session says which session the run belongs to. At most one of ID, Resume and Continue is set;
// without any of them a session is created.
type Session struct {
	// ID is the session to use. It is created if it does not exist.
	ID string `json:"id,omitempty" jsonschema:"the session to use; it is created if it does not exist"`
	// Resume is the id or name of a session that exists.
	Resume string `json:"resume,omitempty" jsonschema:"the id or name of a session that exists"`
	// Continue uses the newest session of the project.
	Continue bool `json:"continue,omitempty" jsonschema:"use the newest session of the project"`
	// Fork leaves the session as it is and continues in a fork of it.
	Fork bool `json:"fork,omitempty" jsonschema:"leave the session as it is and continue in a fork of it"`
	// WithGrants has a fork begin with the session's permission decisions.
	WithGrants bool `json:"with_grants,omitempty" jsonschema:"with fork: begin with the session's permission decisions"`
	// ForkAt is the item to go back to first.
	ForkAt string `json:"at,omitempty" jsonschema:"the item to go back to first"`
	// Title is the session's title.
	Title string `json:"title,omitempty" jsonschema:"the session's title"`
	// Takeover takes the session from a process that holds it.
	Takeover bool `json:"takeover,omitempty" jsonschema:"take the session from a process that holds it"`
	// NoPersist writes nothing to the session. A daemon refuses it: its runs are their records.
	NoPersist bool `json:"no_persist,omitempty" jsonschema:"write nothing to the session; a daemon refuses this"`
}

// ModelOptions say how the model is called.
type ModelOptions struct {
	// Fallback is the model, PROVIDER/MODEL, that answers for the rest of a turn when the first one stays unavailable.
	Fallback string `json:"fallback,omitempty" jsonschema:"PROVIDER/MODEL that answers for the rest of a turn when the model stays unavailable"`
	// BaseURL is the provider's address.
	BaseURL string `json:"base_url,omitempty" jsonschema:"the provider's address"`
	// MaxTokens bounds one answer.
	MaxTokens int `json:"max_tokens,omitempty" jsonschema:"bound of one answer, in tokens"`
	// Effort is how much the model thinks: low, medium or high.
	Effort string `json:"effort,omitempty" jsonschema:"how much the model thinks: low, medium or high"`
}

// Instructions are what the model is told before the prompt.
type Instructions struct {
	// System replaces the system prompt.
	System string `json:"system,omitempty" jsonschema:"replaces the system prompt"`
	// AppendSystem is added to the system prompt.
	AppendSystem string `json:"append_system,omitempty" jsonschema:"added to the system prompt"`
	// NoContextFiles reads no AGENTS.md and no CLAUDE.md except the administrator's.
	NoContextFiles bool `json:"no_context_files,omitempty" jsonschema:"read no AGENTS.md and no CLAUDE.md except the administrator's"`
}

// Permissions say what is allowed, and who is asked.
type Permissions struct {
	// Mode is the permission mode at the start. "" is that of the settings.
	Mode string `json:"mode,omitempty" jsonschema:"permission mode; left out: that of the settings"`
	// Allow and Deny are rules, such as "Bash(git log:*)"; an entry may hold several, separated by commas.
	Allow []string `json:"allow,omitempty" jsonschema:"rules of what runs without asking, such as Bash(git log:*)"`
	Deny  []string `json:"deny,omitempty" jsonschema:"rules of what is denied; a tool's name alone removes the tool"`
	// Settings are more settings, stronger than those of the folder and the user. Each is an absolute path or a JSON object.
	Settings []string `json:"settings,omitempty" jsonschema:"more settings, stronger than those of the folder and the user: each is an absolute path or a JSON object as text"`
	// Unattended says what happens to a question that nobody is there to answer: deny, wait or fail.
	Unattended string `json:"on_ask,omitempty" jsonschema:"what happens to a question that nobody is there to answer: deny, wait or fail"`
	// AskTimeout is how long a question waits before the answer is no, such as "10m".
	AskTimeout string `json:"ask_timeout,omitempty" jsonschema:"how long a question waits before the answer is no, such as 10m"`
}

// Sandbox is about the kernel sandbox of commands.
type Sandbox struct {
	// Disabled runs commands without the sandbox. It is refused where the administrator's settings want one.
	Disabled bool `json:"off,omitempty" jsonschema:"run commands without the kernel sandbox; refused where the administrator's settings want it"`
}

// Hooks says which hooks run.
type Hooks struct {
	// Disabled runs no hooks. It is refused where the administrator's settings have some.
	Disabled bool `json:"off,omitempty" jsonschema:"run no hooks; refused where the administrator's settings have some"`
	// Setup fires the Setup event first, with this trigger: init or maintenance.
	Setup string `json:"setup,omitempty" jsonschema:"fire the Setup event first, with this trigger: init or maintenance"`
}

// MCP names MCP servers.
type MCP struct {
	// Configs name more servers. Each is an absolute path or a JSON object in the form of .mcp.json.
	Configs []string `json:"configs,omitempty" jsonschema:"more servers: each is an absolute path or a JSON object as text, in the form of .mcp.json"`
	// Strict uses no other servers than those of Configs.
	Strict bool `json:"strict,omitempty" jsonschema:"use no other servers than those of configs"`
}

// Limits bound the run.
type Limits struct {
	// MaxTurns bounds the model calls of the agent, and those of each sub-agent.
	MaxTurns int `json:"max_turns,omitempty" jsonschema:"bound of model calls, and of those of each sub-agent"`
	// MaxBudgetUSD bounds what the run may cost with all its agents. 0 leaves the bound that the session has, -1 removes it.
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty" jsonschema:"bound of what the run may cost with all its agents, in US dollars; left out: the bound that it has; -1 removes it"`
}

// Compaction says when the transcript is compacted.
type Compaction struct {
	// Disabled never compacts by itself.
	Disabled bool `json:"off,omitempty" jsonschema:"never compact by itself"`
	// Items compacts a transcript of more than so many items.
	Items int `json:"items,omitempty" jsonschema:"compact a transcript of more than so many items"`
}

// Environment describes the caller's environment by reference. It never holds a value.
type Environment struct {
	// Variables are the names of the variables that the caller gave. Whoever builds the run without
	// the caller looks for their values in From and in its own environment, and says which are missing.
	Variables []string `json:"variables,omitempty" jsonschema:"names of the variables that the caller gave"`
	// References says where the value of a variable is kept: env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS.
	References map[string]string `json:"from,omitempty" jsonschema:"by variable, where its value is kept: env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS"`
}
