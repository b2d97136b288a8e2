// Package run is `holdfast run`. It makes a runspec.Spec from the flags, and runs the spec in this
// process or in the daemon.
//
//	flags ─► Cmd.Spec ─┬─► runtime ─► agent ─► events ─┬─► drive ─► view.View
//	                   └─► daemon/client.Run ► events ─┘
package run

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Command makes `holdfast run`.
func Command(p *command.Program) *command.Command {
	return p.Command(&Cmd{}, "run", "Run an agent on a prompt until it is done.")
}

// Cmd is `holdfast run`.
type Cmd struct {
	Prompt string
	Print  bool // `holdfast -p`, which is this command

	flags.RunFlags

	OutputFormat           string
	IncludePartialMessages bool
	Quiet                  bool
	Verbose                bool

	typed *typed // nil unless the user can type while the run works
}

func (c *Cmd) Declare(b *command.Builder) {
	b.Optional(&c.Prompt, "prompt", "The prompt. With - or without a prompt, standard input is read. Piped input is appended to the prompt.")
	b.Include(&c.RunFlags)
	b.Heading = "Session"
	b.Flag(&c.NoPersist, "no-session-persistence", "", "", "Do not record the session.")
	c.OutputFormat = "text"
	b.Heading = "Output"
	b.Flag(&c.OutputFormat, "output-format", "", "FORMAT", "Output format: text, json or stream-json.", "text", "json", "stream-json")
	b.Flag(&c.IncludePartialMessages, "include-partial-messages", "", "", "With stream-json: print stream_event lines while the model writes.")
	b.Flag(&c.Quiet, "quiet", "q", "", "Print only the answer and errors.")
	b.Flag(&c.Verbose, "verbose", "v", "", "Also print thinking and full tool output.")
	b.Flag(&c.Print, "print", "p", "", "Print the answer and exit, as this command always does.")
	b.Hide("print")
}
