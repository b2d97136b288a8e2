package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// startDaemon is the command to start a daemon that browsers can use.
const startDaemon = "holdfast daemon --listen 127.0.0.1:7423"

type openDoc struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires_at"`
}

func (c *openCmd) Run(ctx context.Context, p *command.Program) error {
	d, err := dial.Daemon(ctx, p)
	if errors.Is(err, client.ErrNoDaemon) {
		return &outcome.Failure{Message: err.Error(), Result: outcome.NotFound, Advice: "start it with: " + startDaemon, Cause: err}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	link, err := d.LoginLink(ctx)
	if err != nil {
		return err
	}
	if link.URL == "" {
		return &outcome.Failure{
			Message: "the daemon does not listen on TCP, which browsers need", Result: outcome.Usage,
			Advice: "restart it with: " + startDaemon,
		}
	}
	if c.JSON {
		err = p.Out.JSON(openDoc{link.URL, link.Expires}, p.Out.TTY)
	} else {
		p.Out.Line("%s", link.URL)
	}
	if c.Browser && err == nil {
		err = dial.Browse(ctx, link.URL)
	}
	return err
}
