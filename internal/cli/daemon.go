package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

func newDaemonCmd(p *command.Program) *command.Command {
	cmd := p.Command(&daemonRunCmd{}, "daemon", "Serve runs, questions and sessions to many clients, and a console.") // daemon alone is daemon run
	command.AddCommands(cmd,
		p.Command(&daemonRunCmd{}, "run", "Serve runs, questions, sessions and the console; what daemon alone does."),
		p.Command(&daemonStatusCmd{}, "status", "Say whether a daemon runs, and where."),
		p.Command(&daemonStopCmd{}, "stop", "Let the daemon end: what runs may finish, questions stay open."),
		p.Command(&daemonOpenCmd{}, "open", "Print a link that logs a browser in once."),
		newDaemonTokenCmd(p),
		p.Command(&daemonUnitCmd{}, "unit", "Print units for systemd with this program's path."),
	)
	return cmd
}

// daemonRunCmd is `holdfast daemon run`, and `holdfast daemon`.
type daemonRunCmd struct {
	listenFlags
	Resume         bool
	StopWorkspaces bool
	command.StoreFlags
}

func (c *daemonRunCmd) Declare(b *command.Builder) {
	b.Include(&c.listenFlags)
	b.Flag(&c.Resume, "resume", "", "", "Go on by itself with runs that an earlier daemon left in the middle.")
	b.Flag(&c.StopWorkspaces, "stop-workspaces", "", "", "Stop the containers of workspaces when the daemon ends; otherwise they run on.")
	b.Include(&c.StoreFlags)
}

func (c *daemonRunCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	if err := c.complete(p, home); err != nil {
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
		Listen: c.Listen, Certificate: c.cert, AllowedHosts: c.AllowHost, AllowedOrigins: c.AllowOrigin,
		Drain: *c.Drain, StoreWait: *c.StoreWait, Resume: c.Resume, StopWorkspaces: c.StopWorkspaces,
	})
}
