package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// Options say which server [Open] connects to.
type Options struct {
	Store    string // "" is the default store
	NoDaemon bool
}

// Conn is a connection to a server of the daemon's API.
type Conn struct {
	*client.Client
	Daemon bool       // false: the server is in this process, and its runs stop with it
	Notice env.Notice // why it is not the daemon, if the user expects one; the caller shows it

	stop func() error
}

// Close closes the connection. A server in this process ends: its runs are interrupted and can be
// continued, and its open approvals stay open.
func (c *Conn) Close() error {
	c.Client.Close()
	if c.stop == nil {
		return nil
	}
	return c.stop()
}

// Open connects to the daemon of this home if it serves the store. If no daemon is running, Open
// starts one, which ends when nothing has used it for [ExitIdle]. If there can be no daemon for the
// store, or none is wanted, Open serves the same API inside this process.
//
//	daemon is running ──its store──► Conn{Daemon: true}
//	none is running ──start──► Conn{Daemon: true}
//	another store, no daemon wanted, start failed ──► Conn{Daemon: false}
func Open(ctx context.Context, p *command.Program, o Options) (*Conn, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	ref, err := stores.Parse(p.Environment(), o.Store)
	if err != nil {
		return nil, err
	}
	if v := p.Getenv("HOLDFAST_NO_DAEMON"); o.NoDaemon || v != "" && v != "0" || ref.Scheme == "memory" {
		return serveHere(ctx, p, home, o.Store, env.Notice{})
	}
	d, err := find(ctx, p, home)
	if errors.Is(err, client.ErrNoDaemon) {
		d, err = start(ctx, p, home, o.Store)
	}
	switch {
	case ctx.Err() != nil:
		if err == nil {
			d.Close()
		}
		return nil, context.Cause(ctx)
	case err != nil:
		return serveHere(ctx, p, home, o.Store, env.Notice{Text: "this conversation does not use the daemon: " + err.Error(), Hint: outcome.Hint(err)})
	case d.Info().Store != ref.Name:
		why := fmt.Sprintf("this conversation does not use the daemon, which serves another store, %s", d.Info().Store)
		d.Close()
		return serveHere(ctx, p, home, o.Store, env.Notice{Text: why, Hint: "omit --store and HOLDFAST_STORE, or add --no-daemon"})
	case d.Info().Caller.Agent:
		d.Close()
		return serveHere(ctx, p, home, o.Store, env.Notice{Text: "this conversation does not use the daemon: an agent of the daemon started this process"})
	}
	return &Conn{Client: d, Daemon: true}, nil
}

// findTries is how often find tries again after a daemon has broken the connection.
const findTries = 20

// find connects to a daemon that is running. A daemon that was just killed breaks the connections that
// its socket still accepts.
func find(ctx context.Context, p *command.Program, home string) (c *client.Client, err error) {
	for range findTries {
		c, err = client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.EOF) {
			return c, err
		}
		if waited := wait.Cause(ctx, startPause); waited != nil {
			return nil, waited
		}
	}
	return nil, err
}
