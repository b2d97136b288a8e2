// Package chat is the conversation in the terminal: `holdfast`, `holdfast "prompt"` and
// `holdfast attach`.
//
//	Cmd ─► Start ─► loop ─► Session ─► daemon/client
//	                  │         └─ the session and the spec of its runs, questions about servers
//	                  └─ keys, the live block, slash commands
//
// The loop draws its first frame before it opens the session, because that can start a daemon.
package chat

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
)

// Cmd is `holdfast` without a command.
type Cmd struct {
	Commands []string // the names of all commands, because a misspelled one is no prompt

	Prompt string
	Print  bool // for the help: the program runs `holdfast run`
	ScreenFlags
	flags.RunFlags
}

func (c *Cmd) Declare(b *command.Builder) {
	b.Optional(&c.Prompt, "prompt", "The first message of a conversation. Without a prompt, the conversation waits for you.")
	b.Include(&c.RunFlags)
	b.Heading = "Output"
	b.Flag(&c.Print, "print", "p", "", "Print the answer and exit: the same as holdfast run, with its flags.")
	b.Include(&c.ScreenFlags)
	b.HideExcept("model", "continue", "resume", "image", "print", "permission-mode", "plain", "fullscreen", "mouse")
}

// runFlags name the flags for the files of the package that do the work.
type runFlags = flags.RunFlags

// ScreenFlags say how a conversation uses the terminal.
type ScreenFlags struct {
	Plain      bool
	Fullscreen bool
	Mouse      bool
}

func (c *ScreenFlags) Declare(b *command.Builder) {
	b.Heading = "Output"
	b.Flag(&c.Plain, "plain", "", "", "Only append lines to the output, for screen readers and simple terminals. Same as ACCESSIBLE=1.")
	b.Flag(&c.Fullscreen, "fullscreen", "", "", "Use the whole screen, and restore it on exit.")
	b.Flag(&c.Mouse, "mouse", "", "", "Let the mouse wheel scroll the whole screen. The terminal then selects text only with Shift.")
	b.Exclusive("plain", "fullscreen")
}

// AttachCommand makes `holdfast attach`.
func AttachCommand(p *command.Program) *command.Command {
	return p.Command(&attachCmd{}, "attach", "Open the conversation of a session that is running, waiting or done.")
}

// attachCmd is `holdfast attach`.
type attachCmd struct {
	Session  string
	NoDaemon bool
	CWD      string
	ScreenFlags
	command.StoreFlags
}

func (c *attachCmd) Declare(b *command.Builder) {
	b.Optional(&c.Session, "session", "A session: an id, its first or last characters, or a title. Default: the newest session of this project that works or waits for you, otherwise the newest one that was interrupted.")
	b.Flag(&c.NoDaemon, "no-daemon", "", "", "Serve the session in this process. Same as HOLDFAST_NO_DAEMON=1.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "Use the project of this folder. Default: the current folder.")
	b.Include(&c.ScreenFlags)
	b.Include(&c.StoreFlags)
}

func (c *attachCmd) Help() string {
	return `Several terminals, the console and other clients can open the same session. When you leave, the run
continues in the daemon.

  holdfast attach
  holdfast attach 9375`
}
