package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// Start is what a conversation begins with.
type Start struct {
	Run    *flags.RunFlags // also for attach: its Store, CWD, NoDaemon and Resume
	Attach bool            // the session must exist; without Run.Resume it is the newest that works, waits or was interrupted
	Prompt string          // the first message, or ""
	Images images
	Screen ScreenFlags
}

func (c *Cmd) Run(ctx context.Context, p *command.Program) error {
	if err := c.checkPrompt(p); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	images, err := c.ReadImages(p)
	if err != nil {
		return err
	}
	return converse(ctx, p, &Start{Run: &c.RunFlags, Prompt: c.Prompt, Images: images, Screen: c.ScreenFlags.with(p)})
}

func (c *attachCmd) Run(ctx context.Context, p *command.Program) error {
	screen := c.ScreenFlags.with(p)
	if err := needTerminal(p, screen); err != nil {
		return err
	}
	r := &flags.RunFlags{Resume: c.Session, NoDaemon: c.NoDaemon, StoreFlags: c.StoreFlags}
	r.CWD = c.CWD
	return converse(ctx, p, &Start{Run: r, Attach: true, Screen: screen})
}

// with returns the flags with those that the environment sets.
func (c ScreenFlags) with(p *command.Program) ScreenFlags {
	accessible := p.Getenv("ACCESSIBLE")
	c.Plain = c.Plain || accessible != "" && accessible != "0" || p.Out.Dumb && !c.Fullscreen
	return c
}

// HasTerminal reports whether the user reads and types at a terminal.
func HasTerminal(p *command.Program) bool { return term.IsTerminal(p.Stdin) && p.Out.TTY }

func needTerminal(p *command.Program, s ScreenFlags) error {
	if HasTerminal(p) || s.Plain {
		return nil
	}
	return outcome.Invalid("a conversation needs a terminal", `use holdfast -p "what to do" for one answer`)
}

// checkPrompt rejects a word that is more likely a misspelled command than a prompt, and a
// conversation without a terminal.
func (c *Cmd) checkPrompt(p *command.Program) error {
	unusable := needTerminal(p, c.ScreenFlags.with(p))
	if strings.ContainsAny(c.Prompt, " \t\n") || c.Prompt == "" || slices.Contains(p.Args, "--") {
		return unusable
	}
	near := spelling.Nearest(c.Prompt, c.Commands)
	switch {
	case near != "":
		return outcome.Invalid(fmt.Sprintf("unexpected argument %s, did you mean %q?", c.Prompt, near), "if it is a prompt: holdfast -- "+term.Quote(c.Prompt))
	case unusable != nil:
		return outcome.Invalid("unexpected argument "+c.Prompt, "holdfast --help")
	}
	return nil
}
