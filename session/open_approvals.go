package session

import "context"

// OpenApprovals counts the open questions of sessions that work for the runs of others, by the
// session whose run it is: its own [Meta.OpenApprovals] does not count them.
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
