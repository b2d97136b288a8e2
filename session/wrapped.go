package session

import (
	"context"
	"iter"
)

// WatchUntil watches a store, as [Sessions.Watch] does, until life ends: then the last
// error is ErrClosed. It is for stores that wrap another one, which may live longer.
func WatchUntil(ctx, life context.Context, s Store, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		heads := Poll(both, s, id, after, watchPoll)
		if w, ok := As[Watcher](s); ok {
			heads = w.Watch(both, id, after)
		}
		for head, err := range heads {
			if life.Err() != nil && ctx.Err() == nil {
				head, err = 0, &Error{Op: "watch", Session: id, Err: ErrClosed}
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}
