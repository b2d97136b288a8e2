// Package doctor is `holdfast doctor`: show what this machine and this setup offer.
package doctor

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command makes `holdfast doctor`.
func Command(p *command.Program) *command.Command {
	return p.Command(&doctorCmd{}, "doctor", "Show what this machine and this setup offer.")
}

// doctorCmd is `holdfast doctor`.
type doctorCmd struct {
	Net bool
	CWD string
	command.StoreFlags
	command.JSONFlag
}

func (c *doctorCmd) Declare(b *command.Builder) {
	b.Flag(&c.Net, "net", "", "", "Also ask the model's server whether it answers.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder to look at; default the current one.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
