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
		l := s.newLog(m.ID)
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
	owned, err := s.owned(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range append([]Meta{m}, owned...) {
		if err := do(m); err != nil {
			return err
		}
	}
	return nil
}

// owned lists who works for a session's run, and who works for theirs, down to the last:
// each behind the one that it works for, and once.
func (s *Sessions) owned(ctx context.Context, id string) (list []Meta, err error) {
	known, next := map[string]bool{id: true}, []string{id}
	for len(next) > 0 {
		page, err := s.store.List(ctx, Query{Owner: next[0], Worktrees: true, Trash: TrashToo})
		if err != nil {
			return nil, err
		}
		next = next[1:]
		for _, m := range page.Sessions {
			if !known[m.ID] {
				known[m.ID] = true
				list, next = append(list, m), append(next, m.ID)
			}
		}
	}
	return list, nil
}

func inTrash(id string) error {
	return &Error{Op: "open", Session: id, Err: ErrTrashed, Hint: "holdfast sessions restore " + id}
}
