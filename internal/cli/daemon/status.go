package daemon

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type statusDoc struct {
	Running bool `json:"running"`
	*listen.Info
	Ready   bool   `json:"ready"`
	Runs    int    `json:"active_runs"`
	Clients int    `json:"connected_clients"`
	Problem string `json:"problem,omitempty"`
}

func (c *statusCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
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
		if err := p.Out.JSON(doc, p.Out.TTY); err != nil {
			return err
		}
	} else {
		doc.print(p)
	}
	switch {
	case !running:
		return command.End(outcome.NotFound)
	case doc.Problem != "":
		return command.End(outcome.Failed)
	}
	return nil
}

// ask requests the daemon's state from the daemon.
func (d *statusDoc) ask(ctx context.Context, p *command.Program) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	daemon, err := dial.Daemon(ctx, p)
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

func (d *statusDoc) print(p *command.Program) {
	if !d.Running {
		p.Out.Line("stopped")
		return
	}
	word := "running"
	if !d.Ready {
		word = "running, not ready"
	}
	p.Out.Line("%s  pid %d, version %s, since %s", word, d.PID, term.Escape(d.Version), d.Started.Local().Format(time.DateTime))
	p.Out.Line("  socket   %s", term.Escape(d.Socket))
	if len(d.Addresses) > 0 {
		p.Out.Line("  serves   %s", term.Escape(strings.Join(d.Addresses, " ")))
	}
	if d.Problem != "" {
		p.Out.Line("  problem  %s", term.Escape(term.OneLine(d.Problem)))
		return
	}
	if d.ExitIdle != "" {
		p.Out.Line("  ends     when nothing has used it for %s", term.Escape(d.ExitIdle))
	}
	p.Out.Line("  runs     %d", d.Runs)
	p.Out.Line("  clients  %d", d.Clients)
}

// stopPause is the interval between checks of the daemon's lock.
const stopPause = 50 * time.Millisecond

func (c *stopCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil {
		return err
	}
	if !running {
		p.Err.Line("no daemon is running")
		return nil
	}
	if info.PID <= 0 {
		return &outcome.Failure{Message: "the daemon's process id is unknown", Advice: "try again in a few seconds", Result: outcome.Failed}
	}
	proc, err := os.FindProcess(info.PID)
	if err != nil {
		return err
	}
	if err := proc.Signal(syscall.SIGTERM); err != nil {
		return &outcome.Failure{Message: "stop the daemon: " + err.Error(), Result: outcome.Failed, Cause: err}
	}
	return c.wait(ctx, p, home, proc)
}

func (c *stopCmd) wait(ctx context.Context, p *command.Program, home string, proc *os.Process) error {
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
			p.Err.Line("stopped")
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &outcome.Failure{Message: "the daemon is still stopping", Advice: "holdfast daemon stop --now", Result: outcome.Failed}
		case <-tick.C:
			if c.Now {
				_ = proc.Signal(syscall.SIGTERM) // the second signal ends the daemon at once
			}
		}
	}
}
