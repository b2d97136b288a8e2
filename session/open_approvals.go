package session

import "context"

// OpenApprovals counts the open approval requests of sessions that work for the run of another
// session. The key is the id of the session that owns the run. The [Meta.OpenApprovals] of the
// owner does not include them.
func (s *Sessions) OpenApprovals(ctx context.Context) (map[string]int, error) {
	page, err := s.store.List(ctx, Query{WithApprovals: true, Worktrees: true})
	asking := map[string]int{}
	for i := range page.Sessions {
		if m := &page.Sessions[i]; m.Owner != "" {
			asking[m.Owner] += m.OpenApprovals
		}
	}
	return asking, err
}
