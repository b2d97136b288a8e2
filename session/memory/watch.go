package memory

import (
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/session"
)

var _ session.Watcher = (*Store)(nil)

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return s.watchers.Watch(ctx, id, after)
}
