package session

import "context"

// OpenQuestions counts the open questions of sessions that work for the runs of others, by the
// session whose run it is: its own [Meta.Questions] does not count them.
func (s *Sessions) OpenQuestions(ctx context.Context) (map[string]int, error) {
	page, err := s.store.List(ctx, Query{WithQuestions: true, Worktrees: true})
	asking := map[string]int{}
	for i := range page.Sessions {
		if m := &page.Sessions[i]; m.Owner != "" {
			asking[m.Owner] += m.Questions
		}
	}
	return asking, err
}
