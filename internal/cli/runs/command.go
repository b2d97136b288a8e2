// Package runs has the commands that look at runs from any folder: `holdfast ps`, `holdfast logs`,
// `holdfast stop` and `holdfast stats`.
//
// They read the store, which has the records of every run: those of the daemon, and those of other
// processes. A lease tells which process runs a session. The daemon is asked only for what no store
// has: the deltas of a model's answer, and the end of a run.
package runs

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// PsCommand returns `holdfast ps`.
func PsCommand(p *command.Program) *command.Command {
	return p.Command(&psCmd{}, "ps", "List the sessions that need you, that work, and that are done.")
}

// LogsCommand returns `holdfast logs`.
func LogsCommand(p *command.Program) *command.Command {
	return p.Command(&logsCmd{}, "logs", "Print what a session did, and follow it while it works.")
}

// StopCommand returns `holdfast stop`.
func StopCommand(p *command.Program) *command.Command {
	return p.Command(&stopCmd{}, "stop", "Stop a run. Completed work is kept.")
}

// StatsCommand returns `holdfast stats`.
func StatsCommand(p *command.Program) *command.Command {
	return p.Command(&statsCmd{}, "stats", "Print cost, tokens and calls by day and model.")
}

// psCmd is `holdfast ps`.
type psCmd struct {
	All   bool
	Watch bool
	command.StoreFlags
	command.JSONFlag
}

func (c *psCmd) Declare(b *command.Builder) {
	b.Flag(&c.All, "all", "a", "", "Include sessions that have been done for more than a day.")
	b.Flag(&c.Watch, "watch", "w", "", "Show the list until you press Ctrl-C, and update it each second.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Exclusive("watch", "json")
}

func (c *psCmd) Help() string {
	return `The list has the sessions of all projects. First come those that need you: an approval or a question
is pending. Then come those that a process works on, then those that are done.

At a terminal, ids are shortened to their first characters, or to their last ones if the first are a
time. Every command that takes a session accepts them.

  holdfast ps --watch
  holdfast logs -f 9375
  holdfast stop 9375`
}

// logsCmd is `holdfast logs`.
type logsCmd struct {
	flags.SessionArg
	Follow  bool
	Since   string
	Turns   int
	Verbose bool
	command.StoreFlags
}

func (c *logsCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Flag(&c.Follow, "follow", "f", "", "Continue to print until the run ends or you press Ctrl-C, which does not stop the run.")
	b.Flag(&c.Since, "since", "", "TIME", "Print only what happened since this time: 2026-11-20, 2026-11-20T15:04:05Z, or an age such as 10m or 2h.")
	b.Flag(&c.Turns, "turns", "n", "N", "Print only the last N turns.")
	b.Flag(&c.Verbose, "verbose", "v", "", "Do not shorten the output of tools.")
	b.Include(&c.StoreFlags)
	b.Exclusive("since", "turns")
}

func (c *logsCmd) Help() string {
	return `Print a session as holdfast run prints it, with the prompts. The run can be in the daemon, in another
terminal, or over. Use holdfast sessions show for the items and records of a session.

  holdfast logs -n 1 9375
  holdfast logs -f 9375`
}

// stopCmd is `holdfast stop`.
type stopCmd struct {
	flags.SessionArg
	command.StoreFlags
	command.JSONFlag
}

func (c *stopCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

func (c *stopCmd) Help() string {
	return `Stop a run of the daemon, or a holdfast run in another terminal of this machine, which is interrupted as
with Ctrl-C. The session keeps everything up to this point and can be resumed. For a run of any
other process, the command prints how to stop it and ends with code 7. If nothing runs, there is
nothing to stop, and the command succeeds.`
}

// statsCmd is `holdfast stats`.
type statsCmd struct {
	Days int
	All  bool
	CWD  string
	command.StoreFlags
	command.JSONFlag
}

func (c *statsCmd) Declare(b *command.Builder) {
	c.Days = 30
	b.Flag(&c.Days, "days", "d", "N", "Include the last N days, with today. Default: 30.")
	b.Flag(&c.All, "all", "a", "", "Include sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Use the project of this folder. Default: the current folder.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
	b.Exclusive("all", "cwd")
}
