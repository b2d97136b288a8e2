package logwatch

import (
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/session"
)

// WatchUntil watches a store, as [session.Sessions.Watch] does, until life ends; the last error is
// then ErrClosed. It is for wrappers of a store, if the store may be used longer than the wrapper.
func WatchUntil(ctx, life context.Context, s session.Store, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		both, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		for head, err := range session.New(s, nil).Watch(both, id, after) {
			if life.Err() != nil && ctx.Err() == nil {
				head, err = 0, &session.Error{Op: "watch", Session: id, Err: session.ErrClosed}
			}
			if !yield(head, err) || err != nil {
				return
			}
		}
	}
}
