package session

import (
	"context"
	"errors"
	"slices"
)

// relatives lists the sessions that may repeat each other's text, m first: a session, the sessions
// it was forked from, its forks, and the sessions that work for the runs of these. Deleted
// sessions are included as long as forks need their records.
func (s *Sessions) relatives(ctx context.Context, m Meta) ([]Meta, error) {
	all, err := s.relatedSessions(ctx)
	if err != nil {
		return nil, err
	}
	near := map[string][]string{}
	tie := func(a, b string) {
		if b != "" {
			near[a], near[b] = append(near[a], b), append(near[b], a)
		}
	}
	for id, of := range all {
		tie(id, of.Parent)
		tie(id, of.Owner)
	}
	list := []Meta{m}
	known := map[string]bool{m.ID: true}
	for i := 0; i < len(list); i++ {
		for _, id := range near[list[i].ID] {
			if of, ok := all[id]; ok && !known[id] {
				known[id] = true
				list = append(list, of)
			}
		}
	}
	slices.SortStableFunc(list[1:], func(a, b Meta) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}

// relatedSessions returns every session of the store by id, including deleted ones that forks
// need.
func (s *Sessions) relatedSessions(ctx context.Context) (map[string]Meta, error) {
	page, err := s.store.List(ctx, Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return nil, err
	}
	all := map[string]Meta{}
	for _, m := range page.Sessions {
		all[m.ID] = m
	}
	for _, m := range page.Sessions {
		for m.Parent != "" {
			parent, ok := all[m.Parent]
			if !ok {
				parent, err = s.lookup(ctx, m.Parent)
				if errors.Is(err, ErrNotFound) {
					break // the session is damaged: the error is reported when the record is read
				}
				if err != nil {
					return nil, err
				}
				all[parent.ID] = parent
			}
			if m = parent; !m.Deleted {
				break
			}
		}
	}
	return all, nil
}
