// Package dial finds the daemon of this home for commands.
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

// Daemon reaches the daemon of this home.
func Daemon(ctx context.Context, p *command.Program) (*client.Client, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
}

// RefuseInsideRun refuses what a run of this home's daemon would do to its own guards past
// the daemon, in the files. It keeps honest agents honest: what runs outside of the
// sandbox as the same account could write the files itself.
func RefuseInsideRun(p *command.Program, what string) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil || !running || !auth.IsDescendant(info.PID) {
		return err
	}
	return &outcome.Failure{Message: "an agent of this daemon cannot " + what, Result: outcome.Denied, Advice: "do it from a terminal of your own"}
}

// IsDaemonRunning finds the daemon of this home, when it serves this store and nothing says to do
// without; nil otherwise. Where none runs that takes two calls of the system. The
// caller closes it. other names the store that a daemon serves instead.
func IsDaemonRunning(ctx context.Context, p *command.Program, store string) (c *client.Client, other string) {
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
		p.Warn("going on without the daemon: %v", err)
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
