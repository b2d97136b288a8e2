package runs

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *logsCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Turns < 0 {
		return outcome.Invalid("--turns must not be negative", "")
	}
	since, err := command.ReadTime("--since", c.Since, p.Clock())
	if err != nil {
		return err
	}
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		after, err := c.start(ctx, s, m, since)
		if err != nil {
			return err
		}
		log := newTranscript(p, m, c.Verbose)
		if c.Follow {
			err = c.follow(ctx, p, s, m, after, log)
		} else {
			_, err = log.read(ctx, s, m.ID, after)
		}
		if err != nil && context.Cause(ctx) != nil { // Ctrl-C, or a signal: the run is left alone
			log.end()
			return nil
		}
		if err == nil {
			err = log.pending(ctx, s, command.StoreArg(c.Store))
		}
		log.end()
		return err
	})
}

// start returns the seq after which to print.
func (c *logsCmd) start(ctx context.Context, s *session.Sessions, m session.Meta, since time.Time) (int64, error) {
	if c.Turns == 0 && since.IsZero() {
		return 0, nil
	}
	turns := 0
	for r, err := range s.Records(ctx, m.ID, session.Range{Reverse: true}) {
		if err != nil {
			return 0, err
		}
		if !since.IsZero() && r.Time.Before(since) {
			return r.Seq, nil
		}
		if r.Kind == record.KindTurnOpened {
			if turns++; turns == c.Turns {
				return r.Seq - 1, nil
			}
		}
	}
	return 0, nil
}

// follow prints the session until its run ends. For a run of the daemon it prints the answer while
// the model writes it; any other run is followed in the store.
func (c *logsCmd) follow(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta, after int64, log *transcriptPrinter) error {
	if m.Run == string(api.StatusRunning) {
		if d, _ := dial.DaemonForStore(ctx, p, c.Store); d != nil {
			defer d.Close()
			return log.followDaemon(ctx, d, m.ID, after)
		}
	}
	return log.followStore(ctx, s, m.ID, after)
}

// followDaemon prints the events of a run of the daemon until it ends.
func (l *transcriptPrinter) followDaemon(ctx context.Context, d *client.Client, id string, after int64) error {
	live := false
	for e, err := range d.Events(ctx, id, after) {
		switch {
		case err != nil:
			return err
		case e.Deleted:
			return &outcome.Failure{Message: "the session was deleted", Result: outcome.NotFound, Cause: session.ErrNotFound}
		case e.Lost:
			return &outcome.Failure{Message: "lost the connection to the daemon: " + term.OneLine(e.Err.Error()), Result: outcome.Failed, Cause: e.Err, Advice: "holdfast logs " + id}
		case e.Err != nil:
			return e.Err
		}
		if e.Record != nil {
			l.record(session.Record{Seq: e.Seq, Kind: e.Record.Kind, Payload: e.Record.Payload})
		}
		for _, ev := range e.Events {
			if err := l.render(ev); err != nil {
				return err
			}
		}
		if e.CaughtUp {
			live = true
		}
		if e.CaughtUp && (e.Status == "" || e.Status.Ended()) || live && e.Record != nil && endsRun(e.Record.Kind, e.Record.Payload) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// leaseEvery is how often followStore looks whether a process still runs the session: the end of a
// process is no record.
const leaseEvery = 500 * time.Millisecond

// followStore prints the records of a session until no process runs it.
func (l *transcriptPrinter) followStore(ctx context.Context, s *session.Sessions, id string, after int64) error {
	ctx, stop := context.WithCancelCause(ctx)
	grown := make(chan error)
	go func() {
		defer close(grown)
		for _, err := range s.Watch(ctx, id, after) {
			select {
			case grown <- err:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		stop(nil)
		for range grown { // Watch has ended when the channel is closed
		}
	}()
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for {
		held, err := s.Lease(ctx, id)
		if err != nil {
			return err
		}
		if after, err = l.read(ctx, s, id, after); err != nil || held == nil { // the records of a holder that has ended are all there
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		case err, ok := <-grown:
			if !ok {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
}

// read prints the records after a seq, and returns the seq of the last one.
func (l *transcriptPrinter) read(ctx context.Context, s *session.Sessions, id string, after int64) (int64, error) {
	if l.reader == nil {
		l.reader = &recordevents.Reader{}
	}
	for r, err := range s.Effective(ctx, id, session.Range{After: after}) {
		if err != nil {
			return after, err
		}
		l.record(r)
		list, err := l.reader.Events(r)
		if err != nil {
			return after, err
		}
		for _, e := range list {
			if err := l.render(e); err != nil {
				return after, err
			}
		}
		after = r.Seq
	}
	return after, nil
}
