package runlog

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
)

// Pending lists pending approval requests and questions. If id is the session of a run, it lists those of the run,
// including the sessions that work for it. If id is a session that works for a run, it lists only those of that
// session. If id is "", it lists those of all runs. They are sorted and returned as by [approval.Pending].
func Pending(ctx context.Context, sessions *session.Sessions, id string) ([]approval.Request, error) {
	all, failed := approval.Pending(ctx, sessions, id)
	if id == "" {
		return all, failed
	}
	m, err := sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	add := func(of string, asks func(approval.Request) bool) {
		asked, err := approval.Pending(ctx, sessions, of)
		if errors.Is(err, session.ErrNotFound) {
			return
		}
		all = append(all, slices.DeleteFunc(asked, func(q approval.Request) bool { return !asks(q) })...)
		failed = errors.Join(failed, err)
	}
	if m.Owner != "" {
		add(m.Owner, func(q approval.Request) bool { return q.Asker == id })
	} else {
		p, err := sessions.List(ctx, session.Query{WithApprovals: true, Worktrees: true, Owner: id})
		failed = errors.Join(failed, err)
		for _, m := range p.Sessions {
			add(m.ID, func(approval.Request) bool { return true })
		}
	}
	slices.SortStableFunc(all, func(a, b approval.Request) int { return a.AskedAt.Compare(b.AskedAt) })
	return all, failed
}
