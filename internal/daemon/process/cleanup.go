package process

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/session/prune"
	"github.com/holdfast-dev/holdfast/session"
)

// cleaner applies cleanupPeriodDays of the user's settings: when the daemon starts and then once a
// day. It reads the settings each time.
type cleaner struct {
	env      *env.Env
	sessions *session.Sessions
	log      *slog.Logger
}

const day = 24 * time.Hour

// run runs until ctx ends.
func (c *cleaner) run(ctx context.Context) {
	tick := time.NewTicker(day)
	defer tick.Stop()
	for {
		if err := c.clean(ctx); err != nil && ctx.Err() == nil {
			c.log.Error("cannot delete old sessions", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// clean deletes the sessions that were in the trash long enough. Then it moves old sessions to the
// trash.
func (c *cleaner) clean(ctx context.Context) error {
	days, err := c.env.CleanupDays()
	if err != nil || days == 0 {
		return err
	}
	before := c.env.Now().AddDate(0, 0, -days)
	for _, empty := range []bool{true, false} {
		o := prune.Options{Before: before, Empty: empty}
		list, err := prune.Find(ctx, c.sessions, o)
		if err != nil {
			return err
		}
		for i := range list {
			if err := list[i].Remove(ctx, c.sessions, o); err != nil {
				if ctx.Err() != nil {
					return err
				}
				c.log.Error("cannot delete an old session", "session", list[i].Meta.ID, "error", err)
				continue
			}
			if list[i].KeptReason == "" {
				c.log.Info("deleted an old session", "session", list[i].Meta.ID, "deleted", empty, "updated", list[i].Meta.UpdatedAt)
			}
		}
	}
	return c.sessions.Sweep(ctx)
}
