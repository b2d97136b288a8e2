package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// stopDoc is the result of stop in JSON.
type stopDoc struct {
	Session string  `json:"session"`
	Stopped bool    `json:"stopped"` // false if nothing ran
	Items   int     `json:"items"`   // of the transcript, all kept
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

func (c *stopCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		if m.Owner != "" {
			return outcome.Invalid("session "+m.ID+" is that of a sub-agent", "stop its run: holdfast stop "+command.StoreArg(c.Store)+term.Quote(m.Owner))
		}
		stopped, err := c.stopInDaemon(ctx, p, m)
		if err != nil {
			return err
		}
		if !stopped {
			if stopped, err = c.stopProcess(ctx, s, m); err != nil {
				return err
			}
		}
		return c.print(ctx, p, s, m.ID, stopped)
	})
}

// stopInDaemon stops a run of the daemon, and reports whether it did.
func (c *stopCmd) stopInDaemon(ctx context.Context, p *command.Program, m session.Meta) (bool, error) {
	if m.Run != string(api.StatusRunning) {
		return false, nil
	}
	d, _ := dial.DaemonForStore(ctx, p, c.Store)
	if d == nil {
		return false, nil
	}
	defer d.Close()
	_, err := d.StopRun(ctx, m.ID)
	if problem, ok := errors.AsType[*api.Problem](err); ok && (problem.Status == http.StatusNotFound || problem.Status == http.StatusConflict) {
		return false, nil // it has just ended
	}
	return err == nil, err
}

// stopProcess stops a run of another process, and reports whether it did. If it cannot, the error
// says how to stop the run.
func (c *stopCmd) stopProcess(ctx context.Context, s *session.Sessions, m session.Meta) (bool, error) {
	asking, err := s.OpenApprovals(ctx)
	if err != nil {
		return false, err
	}
	state, lease := runlog.State(ctx, s, m, asking)
	if lease == nil || state == runlog.Idle {
		return false, nil
	}
	h := lease.Holder
	switch {
	case m.Run == string(api.StatusRunning) && isConversation(h):
		return false, &outcome.Failure{
			Message: fmt.Sprintf("session %s runs in a conversation without a daemon: %s", m.ID, h), Result: outcome.Busy,
			Advice: "stop it in its terminal: Esc",
		}
	case m.Run == string(api.StatusRunning):
		return false, &outcome.Failure{
			Message: fmt.Sprintf("session %s runs in a daemon that this command does not use: %s", m.ID, h), Result: outcome.Busy,
			Advice: "set HOLDFAST_HOME to the home folder of that daemon and unset HOLDFAST_NO_DAEMON, or stop the run where it was started",
		}
	}
	if interrupt(h) {
		return true, waitEnd(ctx, s, m.ID, h)
	}
	how := "press Ctrl-C in its terminal"
	if h.PID != 0 {
		how += fmt.Sprintf(", or end process %d on %s", h.PID, h.Host)
	}
	return false, &outcome.Failure{Message: fmt.Sprintf("session %s runs in another process: %s", m.ID, h), Result: outcome.Busy, Advice: how}
}

func (c *stopCmd) print(ctx context.Context, p *command.Program, s *session.Sessions, id string, stopped bool) error {
	m, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	total, err := (&overview{sessions: s}).total(ctx, m)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(stopDoc{m.ID, stopped, m.MessageCount, total.Usage.Total(), total.CostUSD}, false)
	}
	short, err := command.ShortIDs(ctx, p, s)
	if err != nil {
		return err
	}
	name := term.Escape(short(m.ID))
	resume := "holdfast run " + command.StoreArg(c.Store) + "--resume " + name
	if !stopped {
		p.Err.Line("session %s is not running", name)
		asking, err := s.OpenApprovals(ctx)
		if err != nil {
			return err
		}
		switch state, _ := runlog.State(ctx, s, m, asking); state {
		case runlog.Waiting:
			p.Err.Hint("it waits for you: holdfast approvals list " + command.StoreArg(c.Store) + "--session " + name)
		case runlog.Crashed:
			p.Err.Hint("its process ended before the run did; resume it: " + resume)
		}
		return nil
	}
	p.Err.Line("stopped session %s: kept %s (%s, cost %s)", name, term.Count(m.MessageCount, "item"), term.Tokens(total.Usage.Total()), cost(total.CostUSD))
	p.Err.Hint("resume it: " + resume + ` "…"`)
	return nil
}
