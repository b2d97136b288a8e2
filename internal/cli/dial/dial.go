// Package dial connects commands to the daemon of this home.
package dial

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// Daemon connects to the daemon of this home.
func Daemon(ctx context.Context, p *command.Program) (*client.Client, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
}

// RefuseInsideRun returns an error if an agent of this home folder's daemon runs the command. Such
// a command would change the agent's own permissions in the files, which would bypass the daemon.
// This stops only well-behaved agents: a process outside the sandbox that runs under the same
// account could write the files itself.
func RefuseInsideRun(p *command.Program, what string) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil || !running || !auth.IsDescendant(info.PID) {
		return err
	}
	return &outcome.Failure{Message: "an agent of this daemon cannot " + what, Result: outcome.Denied, Advice: "do it in a terminal outside the agent"}
}

// DaemonForStore connects to the daemon of this home folder if the daemon serves this store and no
// flag or variable turns its use off. Otherwise it returns nil. If no daemon is running, the check
// takes two system calls. The caller closes the client. other is the store that the daemon serves
// if it is not the requested one.
func DaemonForStore(ctx context.Context, p *command.Program, store string) (c *client.Client, other string) {
	if v := p.Getenv("HOLDFAST_NO_DAEMON"); v != "" && v != "0" {
		return nil, ""
	}
	home, err := p.Home()
	if err != nil {
		return nil, ""
	}
	c, err = client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
	if errors.Is(err, client.ErrNoDaemon) {
		return nil, ""
	}
	if err != nil {
		p.Warn("running without the daemon: %v", err)
		if hint := outcome.Hint(err); hint != "" {
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(hint))
		}
		return nil, ""
	}
	ref, err := stores.Parse(p.Environment(), store)
	if err != nil || ref.Name != c.Info().Store {
		c.Close()
		return nil, c.Info().Store
	}
	return c, ""
}
