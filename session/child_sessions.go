package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// childSession is a session started by a tool call.
type childSession struct {
	Meta
	use string // see [Opened]
}

// Children lists the sessions that tool calls of this one started, oldest first. Sessions that
// cannot be read are left out.
func (s *Sessions) Children(ctx context.Context, id string) ([]Meta, error) {
	list, err := s.childSessions(ctx, id)
	metas := make([]Meta, len(list))
	for i, b := range list {
		metas[i] = b.Meta
	}
	return metas, err
}

func (s *Sessions) childSessions(ctx context.Context, id string) ([]childSession, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	page, err := s.store.List(ctx, Query{Owner: cmp.Or(m.Owner, id), Worktrees: true})
	if err != nil {
		return nil, err
	}
	var list []childSession
	for _, m := range page.Sessions {
		if caller, use, err := s.StartedBy(ctx, m); err == nil && caller == id {
			list = append(list, childSession{m, use})
		}
	}
	slices.SortStableFunc(list, func(a, b childSession) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}

// StartedBy returns the call that started a session: the caller's session and its tool use. Both
// are "" if no call started it.
func (s *Sessions) StartedBy(ctx context.Context, m Meta) (caller, use string, err error) {
	for rec, err := range s.Records(ctx, m.ID, Range{After: m.ParentSeq, Limit: 1}) {
		if err != nil {
			return "", "", err
		}
		var o Opened
		if rec.Kind == record.KindOpened && rec.Payload != nil && json.Unmarshal(rec.Payload, &o) == nil {
			caller, use = o.Caller, o.Use
		}
	}
	return caller, use, nil
}
