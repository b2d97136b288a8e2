package retry

import (
	"context"
	"errors"
	"syscall"

	"github.com/holdfast-dev/holdfast/session"
)

// WrapObserver returns an observer that retries the calls of w in the same way as appends. With
// [Options.RetryFull], it also retries while the disk of w has no space left. Repeating a call is
// safe.
func (s *Store) WrapObserver(w session.AppendObserver) session.AppendObserver {
	if w == nil {
		return nil
	}
	return &observer{s, w}
}

type observer struct {
	store *Store
	inner session.AppendObserver
}

// Appended implements [session.AppendObserver].
func (w *observer) Appended(ctx context.Context, id string, head session.Record) error {
	return w.call(ctx, id, func() error { return w.inner.Appended(ctx, id, head) })
}

// Deleted implements [session.AppendObserver].
func (w *observer) Deleted(ctx context.Context, id string) error {
	return w.call(ctx, id, func() error { return w.inner.Deleted(ctx, id) })
}

func (w *observer) call(ctx context.Context, id string, f func() error) error {
	err := w.full(id, f())
	if err == nil {
		return nil
	}
	first := true
	return w.store.do(ctx, call{op: "observe append", id: id, write: true}, func(context.Context) error {
		if first {
			first = false
			return err
		}
		return w.full(id, f())
	})
}

// full converts an error of the disk to one of package session.
func (w *observer) full(id string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return &session.Error{
		Op: "observe append", Session: id, Err: session.ErrFull, Detail: err.Error(), Hint: "free space on the disk that holds the audit trail",
	}
}
