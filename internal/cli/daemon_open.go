package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// daemonOpenCmd is `holdfast daemon open`.
type daemonOpenCmd struct {
	Browser bool
	jsonFlag
}

func (c *daemonOpenCmd) declare(b *builder) {
	b.flag(&c.Browser, "browser", "", "", "Open it in the browser as well.")
	b.include(&c.jsonFlag)
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

func (c *daemonOpenCmd) run(ctx context.Context, p *Program) error {
	d, err := p.dialDaemon(ctx)
	if errors.Is(err, client.ErrNone) {
		return &failure{msg: err.Error(), out: outcome.NotFound, hint: "start it with: " + startDaemon, err: err}
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
		return &failure{
			msg: "the daemon serves no TCP address, which browsers need", out: outcome.Usage,
			hint: "start it with: " + startDaemon,
		}
	}
	if c.JSON {
		err = p.out.JSON(openDoc{link.URL, link.Expires}, p.out.TTY)
	} else {
		p.out.Line("%s", link.URL)
	}
	if c.Browser && err == nil {
		err = browse(ctx, link.URL)
	}
	return err
}

// dialDaemon reaches the daemon of this home.
func (p *Program) dialDaemon(ctx context.Context) (*client.Client, error) {
	home, err := p.home()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, &client.Options{Home: home, Name: "cli", Getenv: p.env})
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
		return &failure{msg: name + ": " + term.OneLine(cmp.Or(string(out), err.Error())), hint: "open the link by hand", out: outcome.Failed, err: err}
	}
	return nil
}
