package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Begun is a session that a call has begun.
type Begun struct {
	Meta        Meta
	Caller, Use string // see [Opened]
}

// Begun lists the sessions that calls of this one have begun, oldest first. What cannot be
// read is left out.
func (s *Sessions) Begun(ctx context.Context, id string) ([]Begun, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	page, err := s.store.List(ctx, Query{Owner: cmp.Or(m.Owner, id), Worktrees: true})
	if err != nil {
		return nil, err
	}
	var list []Begun
	for _, m := range page.Sessions {
		if b, err := s.BegunBy(ctx, m); err == nil && b.Caller == id {
			list = append(list, b)
		}
	}
	slices.SortStableFunc(list, func(a, b Begun) int { return a.Meta.CreatedAt.Compare(b.Meta.CreatedAt) })
	return list, nil
}

// BegunBy is which call has begun a session; Caller is "" when none has.
func (s *Sessions) BegunBy(ctx context.Context, m Meta) (Begun, error) {
	b := Begun{Meta: m}
	for rec, err := range s.Records(ctx, m.ID, Range{After: m.ParentSeq, Limit: 1}) {
		if err != nil {
			return b, err
		}
		var o Opened
		if rec.Kind == record.KindOpened && rec.Payload != nil && json.Unmarshal(rec.Payload, &o) == nil {
			b.Caller, b.Use = o.Caller, o.Use
		}
	}
	return b, nil
}
