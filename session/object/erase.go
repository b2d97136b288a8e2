package object

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Erase implements [session.Eraser]. Erase first writes a slot that records the start of the
// erasure. This requires the lease. Then the log is folded without the payloads, and the objects
// that had them are overwritten or removed before Erase returns.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	var h *handle
	err := s.withHandle(ctx, "erase", id, func(it *handle) error {
		h = it
		if h.root != nil && h.st.deleted() { // the session may have been removed with its last fork
			h.root = nil
		}
		return h.commit(ctx, func(st *state) (*draft, error) {
			switch {
			case st.Meta == nil:
				return nil, session.ErrNotFound
			case st.Meta.Deleted: // no process writes it
			case st.Lease == nil || st.Epoch != epoch:
				return nil, session.ErrFenced
			}
			for _, seq := range seqs {
				if seq <= st.Meta.ParentSeq || seq > st.Meta.Head {
					return nil, &session.Error{Seq: seq, Err: session.ErrInvalid, Detail: "there is no record with this number"}
				}
			}
			return &draft{entry: entryErase, state: *st}, nil
		})
	})
	if err != nil || len(seqs) == 0 {
		return err
	}
	erase := map[int64]bool{}
	for _, seq := range seqs {
		erase[seq] = true
	}
	return s.explain(ctx, "erase", id, h.rewrite(ctx, &edit{
		touches: func(first, last int64) bool {
			return slices.ContainsFunc(seqs, func(seq int64) bool { return seq >= first && seq <= last })
		},
		record: func(r *session.Record) bool {
			if erase[r.Seq] {
				r.Payload = nil
			}
			return true
		},
	}))
}

// rewrite folds the log with an edit and removes the old content.
func (h *handle) rewrite(ctx context.Context, e *edit) error {
	if err := h.folding.lock(ctx); err != nil {
		return err
	}
	defer h.folding.unlock()
	if err := h.foldLocked(ctx, e); err != nil {
		return err
	}
	return h.s.blank(ctx, h.id)
}

// blank overwrites the slots that a root includes, so that they are empty but still taken, and
// removes segments that no root names.
func (s *Store) blank(ctx context.Context, id string) error {
	r, _, err := s.loadRoot(ctx, rootKey(id))
	if err != nil || r == nil {
		return err
	}
	return s.blankLog(ctx, r)
}

func (s *Store) blankLog(ctx context.Context, r *root) error {
	var full []string
	for o, err := range s.bucket.list(ctx, logsPrefix+r.Log+"/", "") {
		if err != nil {
			return err
		}
		_, slot, ok := parseSlot(o.key)
		if ok && slot <= r.State.Slot && o.size != int64(len(foldedEntry)) {
			full = append(full, o.key)
		}
	}
	err := inParallel(ctx, full, func(ctx context.Context, key string) error { return s.bucket.put(ctx, key, foldedEntry) })
	if err != nil {
		return err
	}
	var unused []string
	for o, err := range s.bucket.list(ctx, segmentsPrefix+r.Log+"/", "") {
		if err != nil {
			return err
		}
		if r.unused(o.key) {
			unused = append(unused, o.key)
		}
	}
	return s.bucket.remove(ctx, unused)
}

// unused reports whether no root names a segment now or later: later roots name only segments of
// this root, or segments with a higher number.
func (r *root) unused(key string) bool {
	_, gen, ok := parseSegment(key)
	return ok && gen <= r.Gen && !slices.ContainsFunc(r.Segments, func(g segment) bool { return g.Key == key })
}
