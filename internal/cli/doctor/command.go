// Package doctor is `holdfast doctor`: check what this machine and this setup support.
package doctor

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast doctor`.
func Command(p *command.Program) *command.Command {
	return p.Command(&doctorCmd{}, "doctor", "Check this machine and your setup: store, sandbox, model, settings and tools.")
}

// doctorCmd is `holdfast doctor`.
type doctorCmd struct {
	Net bool
	CWD string
	command.StoreFlags
	command.JSONFlag
}

func (c *doctorCmd) Declare(b *command.Builder) {
	b.Flag(&c.Net, "net", "", "", "Also check that the model's server answers.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder to check. Default: the current folder.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}
