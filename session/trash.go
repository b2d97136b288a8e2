package session

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Trash moves a session and the sessions that work for its run to the trash, so that lists leave
// them out. Nothing is deleted; [Sessions.Untrash] restores them. It returns ErrBusy if one of them
// is running. A session that is already in the trash stays unchanged.
func (s *Sessions) Trash(ctx context.Context, id string) error {
	at := s.opt.Clock().UTC().Format(time.RFC3339)
	return s.eachInFamily(ctx, id, func(m Meta) error {
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

// Untrash restores a session from the trash, and the sessions that work for its run.
func (s *Sessions) Untrash(ctx context.Context, id string) error {
	none := ""
	return s.eachInFamily(ctx, id, func(m Meta) error { return s.Patch(ctx, m.ID, MetaPatch{Trashed: &none}) })
}

// eachInFamily calls do for a session and then for the sessions that work for its run.
func (s *Sessions) eachInFamily(ctx context.Context, id string, do func(Meta) error) error {
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

// Family lists the sessions that work for a session's run, directly or not: each session once,
// after the session that it works for.
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

// Sweep removes unused data that crashes and deletes left in the store, if it is a [sweeper]. Call
// it after pruning; it is never required.
func (s *Sessions) Sweep(ctx context.Context) error {
	if sw, ok := As[sweeper](s.store); ok {
		_, err := sw.Sweep(ctx)
		return err
	}
	return nil
}

// DeleteFamily permanently deletes a session, after the sessions that work for its run, so that an
// interrupted call can be repeated. It returns the same errors as [Sessions.Delete].
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
