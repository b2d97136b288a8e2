package session

import (
	"context"
	"errors"
	"time"
)

// Trash puts a session, and those that work for its run, where lists leave them out:
// nothing is removed, and [Sessions.Untrash] brings them back. ErrBusy when somebody
// runs one of them; [Sessions.Delete] is for good. What is there already stays as it is.
func (s *Sessions) Trash(ctx context.Context, id string) error {
	at := s.opt.Clock().UTC().Format(time.RFC3339)
	return s.family(ctx, id, func(m Meta) error {
		if m.Trashed != "" {
			return nil
		}
		l := &Log{s: s, id: m.ID}
		if err := l.acquire(ctx, false); err != nil {
			return err
		}
		return errors.Join(s.Patch(ctx, m.ID, MetaPatch{Trashed: &at}), l.release())
	})
}

// Untrash takes a session out of the trash, and those that work for its run.
func (s *Sessions) Untrash(ctx context.Context, id string) error {
	none := ""
	return s.family(ctx, id, func(m Meta) error { return s.Patch(ctx, m.ID, MetaPatch{Trashed: &none}) })
}

// family does something with a session and then with those that work for its run.
func (s *Sessions) family(ctx context.Context, id string, do func(Meta) error) error {
	m, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	owned, err := s.store.List(ctx, Query{Owner: id, Worktrees: true, Trash: TrashToo})
	if err != nil {
		return err
	}
	for _, m := range append([]Meta{m}, owned.Sessions...) {
		if err := do(m); err != nil {
			return err
		}
	}
	return nil
}

func inTrash(id string) error {
	return &Error{Op: "open", Session: id, Err: ErrTrashed, Hint: "holdfast sessions restore " + id}
}
