package session

import (
	"context"
	"errors"
	"slices"
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
	owned, err := s.Family(ctx, id)
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

// Family lists who works for a session's run, and who works for theirs, down to the last:
// each behind the one that it works for, and once.
func (s *Sessions) Family(ctx context.Context, id string) (list []Meta, err error) {
	known, next := map[string]bool{id: true}, []string{id}
	for len(next) > 0 {
		page, err := s.store.List(ctx, Query{Owner: next[0], Worktrees: true, WithTrash: true})
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

// Sweep removes what crashes and deletes have left in the store, where that is a
// [sweeper]. It is for after a pruning, and never needed.
func (s *Sessions) Sweep(ctx context.Context) error {
	if sw, ok := As[sweeper](s.store); ok {
		_, err := sw.Sweep(ctx)
		return err
	}
	return nil
}

// DeleteFamily deletes a session for good, and first those that work for its run, so that
// what is left when something comes between can be deleted again. Errors are those of
// [Sessions.Delete].
func (s *Sessions) DeleteFamily(ctx context.Context, id string) error {
	owned, err := s.Family(ctx, id)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(owned) {
		if err := s.Delete(ctx, m.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return s.Delete(ctx, id)
}

func inTrash(id string) error {
	return &Error{Op: "open", Session: id, Err: ErrTrashed, Hint: "holdfast sessions restore " + id}
}
