package session

import (
	"context"
	"iter"
	"time"
)

// Watcher is a store that can tell at once when a log has grown, whoever appended:
// this program or another one.
type Watcher interface {
	// Watch yields the head of session id as soon as it is greater than after, and then
	// each time that it has grown; what came in between is not told one by one. It ends
	// with the error of ctx, with ErrNotFound when the session is deleted or not there,
	// with ErrClosed when the store is closed, and with the store's errors. A head that
	// was acknowledged before the call is never missed.
	Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error]
}

// watchPoll is how often a store that is no [Watcher] is asked.
const watchPoll = 250 * time.Millisecond

// Watch yields the head of session id as soon as it is greater than after, and then
// each time that it has grown, see [Watcher]. A store that is none is asked four times
// a second.
func (s *Sessions) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	if w, ok := As[Watcher](s.store); ok {
		return w.Watch(ctx, id, after)
	}
	return Poll(ctx, s.store, id, after, watchPoll)
}

// Poll is a [Watcher] for any store: it looks at the head each time a pause is over.
func Poll(ctx context.Context, s Store, id string, after int64, pause time.Duration) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		after := after // ranging again begins again
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			p, err := s.List(ctx, Query{ID: id})
			switch {
			case err != nil:
			case len(p.Sessions) == 0 || p.Sessions[0].Deleted:
				err = &Error{Op: "watch", Session: id, Err: ErrNotFound}
			case p.Sessions[0].Head > after:
				after = p.Sessions[0].Head
				if !yield(after, nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				yield(0, ctx.Err())
				return
			}
		}
	}
}
