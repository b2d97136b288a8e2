package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// daemonOpenCmd is `holdfast daemon open`.
type daemonOpenCmd struct {
	Browser bool
	command.JSONFlag
}

func (c *daemonOpenCmd) Declare(b *command.Builder) {
	b.Flag(&c.Browser, "browser", "", "", "Open it in the browser as well.")
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *daemonOpenCmd) Help() string {
	return `The link works once, within three minutes, and logs in whoever opens it with all rights
over this daemon. The code stands behind the # and is sent to nobody but the daemon.`
}

// startDaemon is how to start a daemon that browsers reach.
const startDaemon = "holdfast daemon --listen 127.0.0.1:7423"

type openDoc struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires_at"`
}

func (c *daemonOpenCmd) Run(ctx context.Context, p *command.Program) error {
	d, err := dialDaemon(p, ctx)
	if errors.Is(err, client.ErrNone) {
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
			Message: "the daemon serves no TCP address, which browsers need", Result: outcome.Usage,
			Advice: "start it with: " + startDaemon,
		}
	}
	if c.JSON {
		err = p.Out.JSON(openDoc{link.URL, link.Expires}, p.Out.TTY)
	} else {
		p.Out.Line("%s", link.URL)
	}
	if c.Browser && err == nil {
		err = browse(ctx, link.URL)
	}
	return err
}

// dialDaemon reaches the daemon of this home.
func dialDaemon(p *command.Program, ctx context.Context) (*client.Client, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.Getenv})
}

// browse has the desktop open a page.
func browse(ctx context.Context, url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return &outcome.Failure{Message: name + ": " + term.OneLine(cmp.Or(string(out), err.Error())), Advice: "open the link by hand", Result: outcome.Failed, Cause: err}
	}
	return nil
}
