package session

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// maxForkDepth is the maximum length of a chain of forks.
const maxForkDepth = 10_000

// segment is the part of a session's history that one log holds.
type segment struct {
	id    string
	first int64 // the log's own first seq
	last  int64 // the last seq that belongs to the history; 0 means up to the end
}

// Records yields the records of a session, including those of its parents, so that seqs run from 1
// without gaps. It follows the rules of [Store.Read].
func (s *Sessions) Records(ctx context.Context, id string, r Range) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		m, err := s.Get(ctx, id)
		if err != nil {
			yield(Record{}, err)
			return
		}
		s.records(ctx, m, r)(yield)
	}
}

// records is Records for a caller that already has the meta.
func (s *Sessions) records(ctx context.Context, m Meta, r Range) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		own := segment{id: m.ID, first: m.ParentSeq + 1}
		if m.Parent == "" || r.After >= m.ParentSeq {
			s.readSegment(ctx, own, r, 0, yield)
			return
		}
		n := 0
		if r.Reverse {
			var ok bool
			if n, ok = s.readSegment(ctx, own, r, n, yield); !ok {
				return
			}
			for seg, err := range s.ancestors(ctx, m, r.After) {
				if err != nil {
					yield(Record{}, err)
					return
				}
				if n, ok = s.readSegment(ctx, seg, r, n, yield); !ok {
					return
				}
			}
			return
		}
		path := []segment{own}
		for seg, err := range s.ancestors(ctx, m, r.After) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			path = append(path, seg)
		}
		for _, seg := range slices.Backward(path) {
			var ok bool
			if n, ok = s.readSegment(ctx, seg, r, n, yield); !ok {
				return
			}
		}
	}
}

// ancestors yields the segments of m's parents, nearest first, down to the one that contains seq
// after+1.
func (s *Sessions) ancestors(ctx context.Context, m Meta, after int64) iter.Seq2[segment, error] {
	return func(yield func(segment, error) bool) {
		for seg, err := range s.parents(ctx, m, after) {
			if (err != nil || seg.last >= seg.first) && !yield(seg, err) {
				return
			}
		}
	}
}

// parents is like ancestors, but includes parents that share no record with m because the fork
// starts before their first record. Such a segment has last < first.
func (s *Sessions) parents(ctx context.Context, m Meta, after int64) iter.Seq2[segment, error] {
	return func(yield func(segment, error) bool) {
		damaged := func(detail string) {
			yield(segment{}, &Error{
				Op: "read", Session: m.ID, Err: ErrCorrupt, Detail: detail,
				Hint: "holdfast sessions verify " + m.ID,
			})
		}
		seen := map[string]bool{m.ID: true}
		parent, last := m.Parent, m.ParentSeq
		for parent != "" && last > after {
			if seen[parent] || len(seen) > maxForkDepth {
				damaged("its chain of forks has a loop at " + parent)
				return
			}
			seen[parent] = true
			p, err := s.lookup(ctx, parent)
			if errors.Is(err, ErrNotFound) {
				damaged("its parent session " + parent + " is missing")
				return
			}
			if err != nil {
				yield(segment{}, err)
				return
			}
			if !yield(segment{id: parent, first: p.ParentSeq + 1, last: last}, nil) {
				return
			}
			parent, last = p.Parent, min(last, p.ParentSeq)
		}
	}
}

// readSegment yields the records of r from one log. n counts the records yielded so far; it
// returns the new count, and whether to continue.
func (s *Sessions) readSegment(ctx context.Context, g segment, r Range, n int, yield func(Record, error) bool) (int, bool) {
	if r.Limit > 0 {
		if n >= r.Limit {
			return n, false
		}
		r.Limit -= n
	}
	if g.last != 0 && (r.Until == 0 || r.Until > g.last) {
		r.Until = g.last
	}
	if r.Until != 0 && (r.Until < g.first || r.Until <= r.After) {
		return n, true
	}
	for rec, err := range s.store.Read(ctx, g.id, r) {
		if !yield(rec, err) {
			return n, false
		}
		if err == nil {
			n++
		}
	}
	return n, ctx.Err() == nil
}
