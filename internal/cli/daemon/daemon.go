package daemon

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

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
