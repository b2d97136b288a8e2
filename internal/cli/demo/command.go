// Package demo is `holdfast demo`: an agent fixes a small project and survives a kill -9.
package demo

import "github.com/holdfast-dev/holdfast/internal/cli/command"

// Command returns `holdfast demo`.
func Command(p *command.Program) *command.Command {
	return p.Command(&demoCmd{}, "demo", "Watch an agent fix a small project and survive kill -9. Needs no API key.")
}

// demoCmd is `holdfast demo`.
type demoCmd struct {
	Rm bool
}

func (c *demoCmd) Declare(b *command.Builder) {
	b.Flag(&c.Rm, "rm", "", "", "Remove the demo's folder at the end.")
}
