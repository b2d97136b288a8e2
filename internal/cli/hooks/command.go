// Package hooks is `holdfast hooks` and `holdfast trust`: list, test and replay hooks, and trust a
// folder's hooks and settings.
package hooks

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command returns `holdfast hooks`.
func Command(p *command.Program) *command.Command {
	return p.Group("hooks", "List, test and replay hooks.",
		p.Command(&listCmd{}, "list", "List the hooks in the settings, and which of them run.", "ls"),
		p.Command(&testCmd{}, "test", "Run the hooks of one event and print their output."),
		p.Command(&replayCmd{}, "replay", "Run the current hooks against the prompts and tool calls of a past session."),
		command.Hide(p.Command(&trustHooksCmd{}, "trust", "The older name of holdfast trust --hooks-only.")),
	)
}

// TrustCommand returns `holdfast trust`.
func TrustCommand(p *command.Program) *command.Command {
	return p.Command(&trustCmd{}, "trust", "Trust a folder's settings.")
}

// hooksFlags select the settings that define the hooks.
type hooksFlags struct{ flags.SettingsFlags }

func (c *hooksFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The session's folder. Default: the current folder.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Additional settings, as a file or JSON. They override project and user settings. Repeatable.")
}

// listCmd is `holdfast hooks list`.
type listCmd struct {
	hooksFlags
	command.JSONFlag
}

func (c *listCmd) Declare(b *command.Builder) {
	b.Include(&c.hooksFlags)
	b.Include(&c.JSONFlag)
}

func (c *listCmd) Help() string {
	return `Lists hooks in the order in which they run. A folder's hooks run only if you trusted their current
form. "untrusted": never trusted. "modified": the hook, or a file that it names, changed since
you trusted it.`
}

// trustHooksCmd is `holdfast trust --hooks-only`. The older command `holdfast hooks trust` does the
// same.
type trustHooksCmd struct {
	Dir string
	Yes bool
	command.JSONFlag
}

func (c *trustHooksCmd) Declare(b *command.Builder) {
	b.Optional(&c.Dir, "dir", "The folder, or a folder inside it. Default: the current folder.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Include(&c.JSONFlag)
}

func (c *trustHooksCmd) Help() string {
	return `The older name of holdfast trust --hooks-only.`
}

// testCmd is `holdfast hooks test`.
type testCmd struct {
	Event     string
	Input     string
	NoSandbox bool
	hooksFlags
	command.JSONFlag
}

func (c *testCmd) Declare(b *command.Builder) {
	b.Arg(&c.Event, "event", "The hook event, such as PreToolUse, in either dialect.")
	b.Flag(&c.Input, "input", "", "FILE", "The hooks' input as JSON, in either dialect. Use - for standard input. Default: only the event name.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run hook commands without the kernel sandbox.")
	b.Include(&c.hooksFlags)
	b.Include(&c.JSONFlag)
}

func (c *testCmd) Help() string {
	return `Matching hooks really run, as in a session, but their output has no effect. Untrusted hooks do not
run. The exit code is 0, or 3 if a hook blocks.

  echo '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}' |
    holdfast hooks test PreToolUse --input -`
}

// replayCmd is `holdfast hooks replay`.
type replayCmd struct {
	flags.SessionArg
	All       bool
	Yes       bool
	NoSandbox bool
	Settings  []string
	command.StoreFlags
	command.JSONFlag
}

func (c *replayCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.All, "all", "a", "", "Show all events, not only those for which a hook produced output.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask for confirmation.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run hook commands without the kernel sandbox.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "Additional settings, as a file or JSON. They override the session's project and user settings. Repeatable.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *replayCmd) Help() string {
	return `Sends every prompt (UserPromptSubmit) and tool call (PreToolUse) in the session's log to the
folder's current hooks. No tool and no model runs, and the hooks' output has no effect. The hooks
themselves really run, in their sandbox, so the command asks for confirmation first. Without a
terminal, --yes is required.`
}

// trustCmd is `holdfast trust`.
type trustCmd struct {
	Dir       string
	HooksOnly bool
	Yes       bool
	List      bool
	Revoke    bool
	command.JSONFlag
}

func (c *trustCmd) Declare(b *command.Builder) {
	b.Optional(&c.Dir, "dir", "The folder, or a folder inside it. Default: the current folder.")
	b.Flag(&c.HooksOnly, "hooks-only", "", "", "Show the folder's hooks, ask for confirmation, and trust only the hooks.")
	b.Flag(&c.Yes, "yes", "y", "", "With --hooks-only: do not ask for confirmation.")
	b.Flag(&c.List, "list", "", "", "List the trusted folders.")
	b.Flag(&c.Revoke, "revoke", "", "", "Stop trusting the folder.")
	b.Include(&c.JSONFlag)
	b.Exclusive("list", "revoke", "hooks-only")
}

func (c *trustCmd) Help() string {
	return `Deny and ask rules in a folder's .holdfast/settings.json and settings.local.json always apply.
Allow rules apply only after you trust the folder. If the files change, you must trust the folder
again. Trusting a folder also trusts its hooks. Trust covers the whole text of a hook and the files
of the folder that its command names. If one of them changes, you must trust that hook again; other
hooks stay trusted. --hooks-only does not trust the folder's other settings.`
}
