package object

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Watch implements [session.Watcher]. Appends of this store are reported at once. For appends of
// other programs it polls the end of the log every [Options.Poll], with one request.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return s.watchers.Watch(ctx, id, after)
}

// poller is a [logwatch.Notifier] that reads the heads of all watched sessions.
type poller struct{ store *Store }

func (poller) Enter(string) {}
func (poller) Leave(string) {}

// gone is the head of a session that no longer exists.
const gone = -1

// lookTime is the timeout of one poll: a server that disappeared does not answer.
const lookTime = 5 * time.Second

func (p poller) Run(ctx context.Context, b *logwatch.Watchers) {
	tick := time.NewTicker(p.store.opt.Poll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_ = inParallel(ctx, b.Watched(), func(ctx context.Context, id string) error {
			// A poll blocks all other users of the session.
			ctx, stop := context.WithTimeout(ctx, lookTime)
			defer stop()
			page, err := p.store.List(ctx, session.Query{ID: id})
			switch {
			case err != nil:
				b.Notify(id) // the watcher gets the error
			case len(page.Sessions) == 0 || page.Sessions[0].Deleted:
				b.Observed(id, gone)
			default:
				b.Observed(id, page.Sessions[0].Head)
			}
			return nil
		})
	}
}
