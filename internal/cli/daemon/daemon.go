// Package daemon is `holdfast daemon`: serve runs to many clients, and manage the daemon's
// tokens, its page and its systemd units.
package daemon

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

// Command makes `holdfast daemon`.
func Command(p *command.Program) *command.Command {
	cmd := p.Command(&runCmd{}, "daemon", "Serve runs, questions and sessions to many clients, and a console.") // daemon alone is daemon run
	command.AddCommands(cmd,
		p.Command(&runCmd{}, "run", "Serve runs, questions, sessions and the console; what daemon alone does."),
		p.Command(&statusCmd{}, "status", "Say whether a daemon runs, and where."),
		p.Command(&stopCmd{}, "stop", "Let the daemon end: what runs may finish, questions stay open."),
		p.Command(&openCmd{}, "open", "Print a link that logs a browser in once."),
		newDaemonTokenCmd(p),
		p.Command(&unitCmd{}, "unit", "Print units for systemd with this program's path."),
	)
	return cmd
}

// runCmd is `holdfast daemon run`, and `holdfast daemon`.
type runCmd struct {
	listenFlags
	Resume         bool
	StopWorkspaces bool
	command.StoreFlags
}

func (c *runCmd) Declare(b *command.Builder) {
	b.Include(&c.listenFlags)
	b.Flag(&c.Resume, "resume", "", "", "Go on by itself with runs that an earlier daemon left in the middle.")
	b.Flag(&c.StopWorkspaces, "stop-workspaces", "", "", "Stop the containers of workspaces when the daemon ends; otherwise they run on.")
	b.Include(&c.StoreFlags)
}

func (c *runCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	cert, err := c.complete(p, home)
	if err != nil {
		return err
	}
	lock, err := listen.Take(home)
	if err != nil {
		return err
	}
	defer lock.Release()
	p.Env = env.WithoutServiceVariables(p.Env)
	log := c.logger(p)
	e := p.Environment()
	e.Notify = func(n env.Notice) { log.Warn(n.String()) }
	return process.Run(ctx, &process.Config{
		Env: e, Home: home, Store: c.Store, Lock: lock, Log: log,
		Listen: c.Listen, Certificate: cert, AllowedHosts: c.AllowHost, AllowedOrigins: c.AllowOrigin,
		Drain: *c.Drain, StoreWait: *c.StoreWait, Resume: c.Resume, StopWorkspaces: c.StopWorkspaces,
	})
}
