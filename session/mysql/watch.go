package mysql

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// Watch implements [session.Watcher]. Appends of other programs are reported within
// [Options.WatchEvery].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return s.watchers.Watch(ctx, id, after)
}

// poller is a [logwatch.Notifier] that reads the heads of all watched sessions from the server at
// once.
type poller struct{ store *Store }

func (poller) Enter(string) {}
func (poller) Leave(string) {}

// deletedHead is the head of a session that no longer exists.
const deletedHead = -1

func (p poller) Run(ctx context.Context, b *logwatch.Watchers) {
	for wait.For(ctx, p.store.opt.WatchEvery) == nil {
		ids := b.Watched()
		if len(ids) == 0 {
			continue
		}
		now, err := p.store.heads(ctx, ids)
		for _, id := range ids {
			head, ok := now[id]
			switch {
			case err != nil:
				b.Notify(id) // the watcher gets the error
			case ok:
				b.Observed(id, head)
			default:
				b.Observed(id, deletedHead)
			}
		}
	}
}

// headsAtOnce is the number of sessions in one query.
const headsAtOnce = 500

// heads returns the heads of the existing sessions.
func (s *Store) heads(ctx context.Context, ids []string) (map[string]int64, error) {
	found := make(map[string]int64, len(ids))
	for some := range slices.Chunk(ids, headsAtOnce) {
		args := make([]any, len(some))
		for i, id := range some {
			args[i] = []byte(id)
		}
		query := "SELECT id, head FROM sessions WHERE deleted = 0 AND id IN (?" + strings.Repeat(", ?", len(some)-1) + ")"
		err := s.withConn(ctx, "watch", "", func(t *tx) error {
			rows, err := t.c.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id []byte
				var head int64
				if err := rows.Scan(&id, &head); err != nil {
					return err
				}
				found[string(id)] = head
			}
			return rows.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
