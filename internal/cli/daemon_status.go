package cli

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// daemonStatusCmd is `holdfast daemon status`.
type daemonStatusCmd struct{ jsonFlag }

func (c *daemonStatusCmd) declare(b *builder) {
	b.include(&c.jsonFlag)
}

type statusDoc struct {
	Running bool `json:"running"`
	*listen.Info
	Ready   bool   `json:"ready"`
	Runs    int    `json:"active_runs"`
	Clients int    `json:"connected_clients"`
	Problem string `json:"problem,omitempty"`
}

func (c *daemonStatusCmd) run(ctx context.Context, p *Program) error {
	home, err := p.home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil {
		return err
	}
	doc := statusDoc{Running: running}
	if running {
		doc.Info = &info
		doc.ask(ctx, p)
	}
	if c.JSON {
		if err := p.out.JSON(doc, p.out.TTY); err != nil {
			return err
		}
	} else {
		doc.tell(p)
	}
	switch {
	case !running:
		return end(outcome.NotFound)
	case doc.Problem != "":
		return end(outcome.Failed)
	}
	return nil
}

// ask asks the daemon itself how it is.
func (d *statusDoc) ask(ctx context.Context, p *Program) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	daemon, err := p.dialDaemon(ctx)
	if err != nil {
		d.Problem = err.Error()
		return
	}
	defer daemon.Close()
	h, err := daemon.Health(ctx)
	if err != nil {
		d.Problem = err.Error()
		return
	}
	d.Runs, d.Clients = h.ActiveRuns, h.ConnectedClients
	d.Ready = daemon.Ready(ctx) == nil
}

func (d *statusDoc) tell(p *Program) {
	if !d.Running {
		p.out.Line("stopped")
		return
	}
	word := "running"
	if !d.Ready {
		word = "running, not ready"
	}
	p.out.Line("%s  pid %d, version %s, since %s", word, d.PID, term.Escape(d.Version), d.Started.Local().Format(time.DateTime))
	p.out.Line("  socket   %s", term.Escape(d.Socket))
	if len(d.Addresses) > 0 {
		p.out.Line("  serves   %s", term.Escape(strings.Join(d.Addresses, " ")))
	}
	if d.Problem != "" {
		p.out.Line("  problem  %s", term.Escape(term.OneLine(d.Problem)))
		return
	}
	p.out.Line("  runs     %d", d.Runs)
	p.out.Line("  clients  %d", d.Clients)
}

// daemonStopCmd is `holdfast daemon stop`.
type daemonStopCmd struct {
	Now     bool
	Timeout time.Duration
}

func (c *daemonStopCmd) declare(b *builder) {
	b.flag(&c.Now, "now", "", "", "At once: what runs is interrupted as by a crash, and can be continued.")
	c.Timeout = 90 * time.Second
	b.flag(&c.Timeout, "timeout", "", "TIME", "How long to wait for its end.")
}

// stopPause is how often the daemon's lock is looked at.
const stopPause = 50 * time.Millisecond

func (c *daemonStopCmd) run(ctx context.Context, p *Program) error {
	home, err := p.home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil {
		return err
	}
	if !running {
		p.err.Line("no daemon runs")
		return nil
	}
	if info.PID <= 0 {
		return &failure{msg: "the daemon does not say its pid", hint: "try again in a moment", out: outcome.Failed}
	}
	proc, err := os.FindProcess(info.PID)
	if err != nil {
		return err
	}
	if err := proc.Signal(syscall.SIGTERM); err != nil {
		return &failure{msg: "stop the daemon: " + err.Error(), out: outcome.Failed, err: err}
	}
	return c.wait(ctx, p, home, proc)
}

func (c *daemonStopCmd) wait(ctx context.Context, p *Program, home string, proc *os.Process) error {
	tick := time.NewTicker(stopPause)
	defer tick.Stop()
	late := time.NewTimer(c.Timeout)
	defer late.Stop()
	for {
		now, running, err := listen.State(home)
		if err != nil {
			return err
		}
		if !running || now.PID != proc.Pid && now.PID != 0 {
			p.err.Line("stopped")
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &failure{msg: "the daemon has not ended yet", hint: "holdfast daemon stop --now", out: outcome.Failed}
		case <-tick.C:
			if c.Now {
				_ = proc.Signal(syscall.SIGTERM) // the second one ends it at once
			}
		}
	}
}
