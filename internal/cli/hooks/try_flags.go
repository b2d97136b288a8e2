package hooks

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

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

// Help says more than one line.
func (c *testCmd) Help() string {
	return `The hooks that match really run, as they would in a session, and nothing is done about
what they answer. Hooks that are not trusted do not run here either. The exit code is 0,
or 3 when they block.

  echo '{"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}' |
    holdfast hooks test PreToolUse --input -`
}
