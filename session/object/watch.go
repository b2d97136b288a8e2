package object

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Watch implements [session.Watcher]. What this store appends is told at once; for what other
// programs append it looks at the end of the log each time that [Options.Poll] is over, with
// one request.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return s.board.Watch(ctx, id, after)
}

// poller is a [heads.Notifier] that asks for the heads of all sessions that are watched.
type poller struct{ store *Store }

func (poller) Enter(string) {}
func (poller) Leave(string) {}

// gone is the head of a session that is not there any more.
const gone = -1

// lookTime is how long one look may take: a server that has gone without a word says nothing.
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
			// A look holds up everybody else who wants something of the session.
			ctx, stop := context.WithTimeout(ctx, lookTime)
			defer stop()
			page, err := p.store.List(ctx, session.Query{ID: id})
			switch {
			case err != nil:
				b.Notify(id) // who looks gets the error
			case len(page.Sessions) == 0 || page.Sessions[0].Deleted:
				b.Observed(id, gone)
			default:
				b.Observed(id, page.Sessions[0].Head)
			}
			return nil
		})
	}
}
