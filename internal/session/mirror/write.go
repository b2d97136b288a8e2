package mirror

import (
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

var (
	_ session.Store   = (*Store)(nil)
	_ session.Deleter = (*Store)(nil)
	_ session.Eraser  = (*Store)(nil)
	_ session.Watcher = (*Store)(nil)
)

// Append implements [session.Store]: it appends to the primary and adds work for the replication,
// even if the outcome of the append is unknown.
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if s.isClosed() {
		return closed("append", id)
	}
	err := s.primary.Append(ctx, id, b)
	if err == nil || !isSessionError(err) {
		s.mark(id, nil)
	}
	return err
}

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if s.isClosed() {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, closed("read", id)) }
	}
	return s.primary.Read(ctx, id, r)
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if s.isClosed() {
		return session.Page{}, closed("list", q.ID)
	}
	return s.primary.List(ctx, q)
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return logwatch.WatchUntil(ctx, s.life, s.primary, id, after)
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func closed(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrClosed}
}

// Delete implements [session.Deleter]. It returns ErrUnsupported if the primary is not a Deleter.
func (s *Store) Delete(ctx context.Context, id string) error {
	d, ok := session.As[session.Deleter](s.primary)
	if !ok {
		return &session.Error{Op: "delete", Session: id, Err: session.ErrUnsupported}
	}
	if err := d.Delete(ctx, id); err != nil {
		return err
	}
	s.mark(id, func(t *task) { t.deleted, t.erase = true, nil })
	return nil
}

// Erase implements [session.Eraser]. It returns ErrUnsupported if the primary is not an Eraser.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	e, ok := session.As[session.Eraser](s.primary)
	if !ok {
		return &session.Error{Op: "erase", Session: id, Err: session.ErrUnsupported}
	}
	if err := e.Erase(ctx, id, epoch, seqs); err != nil {
		return err
	}
	s.mark(id, func(t *task) {
		if t.erase == nil {
			t.erase = map[int64]bool{}
		}
		for _, seq := range seqs {
			t.erase[seq] = true
		}
	})
	return nil
}
