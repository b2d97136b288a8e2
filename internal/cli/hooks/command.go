// Package hooks is `holdfast hooks` and `holdfast trust`: list, test and replay hooks, and
// trust what a folder brings along.
package hooks

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast hooks`.
func Command(p *command.Program) *command.Command {
	return p.Group("hooks", "List, test and replay hooks.",
		p.Command(&listCmd{}, "list", "List the hooks that settings name, and which of them run.", "ls"),
		p.Command(&testCmd{}, "test", "Fire one event and say what its hooks answer."),
		p.Command(&replayCmd{}, "replay", "Ask today's hooks about the prompts and calls of a past session."),
		command.Hide(p.Command(&trustHooksCmd{}, "trust", "Trust the hooks that a folder brings along: holdfast trust --hooks-only.")),
	)
}

// TrustCommand makes `holdfast trust`.
func TrustCommand(p *command.Program) *command.Command {
	return p.Command(&trustCmd{}, "trust", "Trust the settings that a folder brings along.")
}

// hooksFlags say which settings name the hooks.
type hooksFlags struct{ flags.SettingsFlags }

func (c *hooksFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder the session would work in; default the current one.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
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
	return `In the order in which they run. Hooks of a folder run when they are trusted as they are
now: "untrusted" was never trusted here, "modified" has changed since, or a file that it
names has.`
}

// trustHooksCmd is `holdfast trust --hooks-only`, and the older `holdfast hooks trust`.
type trustHooksCmd struct {
	Dir string
	Yes bool
	command.JSONFlag
}

func (c *trustHooksCmd) Declare(b *command.Builder) {
	b.Optional(&c.Dir, "dir", "The folder, or one inside it; default the current one.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
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
	b.Arg(&c.Event, "event", "PreToolUse, or any other event; the names of either dialect.")
	b.Flag(&c.Input, "input", "", "FILE", "What the hooks are told, as JSON in the form of either dialect; - is standard input. Default nothing but the event.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands of hooks without the kernel sandbox.")
	b.Include(&c.hooksFlags)
	b.Include(&c.JSONFlag)
}

func (c *testCmd) Help() string {
	return `The hooks that match really run, as they would in a session, and nothing is done about
what they answer. Hooks that are not trusted do not run here either. The exit code is 0,
or 3 when they block.

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
	b.Flag(&c.All, "all", "a", "", "Everything, not only that about which hooks said something.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask.")
	b.Flag(&c.NoSandbox, "no-sandbox", "", "", "Run commands of hooks without the kernel sandbox.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the session's folder and the user; may be repeated.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *replayCmd) Help() string {
	return `The hooks of the session's folder as they are now are told of every prompt
(UserPromptSubmit) and every tool call (PreToolUse) of its log. No tool and no model is
run, and nothing is done about what hooks answer; but the hooks themselves really run,
in their sandbox, so you are asked first, and where nobody can be asked --yes is needed.`
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
	b.Optional(&c.Dir, "dir", "The folder, or one inside it; default the current one.")
	b.Flag(&c.HooksOnly, "hooks-only", "", "", "Show the folder's hooks, ask, and trust only them.")
	b.Flag(&c.Yes, "yes", "y", "", "With --hooks-only: do not ask.")
	b.Flag(&c.List, "list", "", "", "List the folders that are trusted.")
	b.Flag(&c.Revoke, "revoke", "", "", "Trust the folder no longer.")
	b.Include(&c.JSONFlag)
	b.Exclusive("list", "revoke", "hooks-only")
}

func (c *trustCmd) Help() string {
	return `What a folder's .holdfast/settings.json and settings.local.json forbid and ask holds at
once. What they allow applies after you trust the folder, as long as they do not change.
Its hooks run from then on. A hook is trusted with its whole text and with the files of the
folder that its command names: if one of them changes, that hook needs trust again, and the
others do not. --hooks-only does not trust what else the settings say.`
}
