package object

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/session"
)

// Delete implements [session.Deleter]. A new slot in the session's log deletes the session for
// everyone. Then the objects that no fork needs are removed. If that is interrupted, Sweep or the
// next user of the id continues it.
func (s *Store) Delete(ctx context.Context, id string) error {
	defer s.watchers.Notify(id)
	return s.withHandle(ctx, "delete", id, func(h *handle) error {
		tried := false
		err := h.commit(ctx, func(st *state) (*draft, error) {
			if st.Meta == nil || st.Meta.Deleted {
				if tried { // an earlier try had written the slot
					return nil, nil
				}
				return nil, session.ErrNotFound
			}
			tried = true
			next := *st
			next.Lease = nil
			next.Meta = tombstone(st.Meta)
			return &draft{entry: entryDeleted, state: next}, nil
		})
		if err != nil {
			return err
		}
		return h.removeUnused(ctx)
	})
}

// tombstone returns the part of a meta that remains after the session is deleted.
func tombstone(m *session.Meta) *session.Meta {
	return &session.Meta{
		ID: m.ID, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Size: m.Size, MessageCount: m.MessageCount,
		Parent: m.Parent, ParentSeq: m.ParentSeq, Head: m.Head, HeadDigest: m.HeadDigest, Deleted: true,
	}
}

// removeUnused removes what no fork needs of a deleted session. It does the same for the parent if
// the parent is deleted and this was its last fork. h.mu is held.
func (h *handle) removeUnused(ctx context.Context) error {
	for range movedTries {
		if err := h.sync(ctx); err != nil {
			return err
		}
		if !h.exists() || !h.st.deleted() {
			return nil
		}
		need, err := h.s.needed(ctx, h.root.Log)
		if err != nil {
			return err
		}
		if need > 0 {
			err = h.cut(ctx, need)
		} else {
			err = h.vacate(ctx)
		}
		if !errors.Is(err, errTaken) && !errors.Is(err, errMoved) {
			return err
		}
		h.root = nil
	}
	return errMoved
}

// needed returns the seq of the last record of a log that a fork needs, or 0 if no fork needs any.
func (s *Store) needed(ctx context.Context, log string) (int64, error) {
	need := int64(0)
	for o, err := range s.bucket.list(ctx, pinsPrefix+log+"/", "") {
		if err != nil {
			return 0, err
		}
		if p, ok := parsePin(o.key); ok {
			need = max(need, p.seq)
		}
	}
	return need, nil
}

// cut removes the records after seq need.
func (h *handle) cut(ctx context.Context, need int64) error {
	was := h.root
	if h.root.State.deleted() && h.st.Meta.Head <= need {
		return h.s.blankLog(ctx, h.root)
	}
	m := *h.st.Meta
	r, o, err := h.writeFolded(ctx, &edit{
		touches: func(_, last int64) bool { return last > need },
		record: func(r *session.Record) bool {
			if r.Seq == need {
				m.HeadDigest = r.Digest
			}
			return r.Seq <= need
		},
		root: func(r *root) {
			m.Head = min(m.Head, need)
			r.State.Meta = &m
		},
	})
	if err != nil {
		return err
	}
	h.root, h.etag, h.st, h.live = r, o.etag, r.State, 0
	if err := h.s.forget(ctx, was, r); err != nil {
		return err
	}
	return h.s.blankLog(ctx, r)
}

// vacate removes all objects of the session, so that its id can be used again.
func (h *handle) vacate(ctx context.Context) error {
	gone := *h.root
	gone.Gen, gone.State, gone.Segments = gone.Gen+1, h.st, nil
	st := h.st
	vacant := root{Format: formatVersion, Log: gone.Log, Op: unique(), Vacant: true, Gen: gone.Gen}
	o, err := h.s.writeRoot(ctx, rootKey(h.id), h.etag, &vacant)
	if err != nil {
		return err
	}
	h.root, h.etag, h.st, h.seen = &vacant, o.etag, state{}, o.date
	if err := h.s.blankLog(ctx, &gone); err != nil {
		return err
	}
	return h.s.unpin(ctx, st.Meta, forkPin{parent: st.Parent, seq: st.Meta.ParentSeq, log: gone.Log, name: nameOf(h.id)})
}

// unpin tells the parent of a fork that the fork is deleted.
func (s *Store) unpin(ctx context.Context, m *session.Meta, p forkPin) error {
	if p.parent == "" {
		return nil
	}
	if err := s.bucket.remove(ctx, []string{p.key()}); err != nil {
		return err
	}
	parent := newHandle(s, m.Parent)
	if err := parent.sync(ctx); err != nil || !parent.exists() || parent.root.Log != p.parent {
		return err
	}
	return parent.removeUnused(ctx)
}

// PutMeta implements [session.Rebuilder]. It returns ErrConflict if the head differs.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	return s.withHandle(ctx, "put meta", m.ID, func(h *handle) error {
		return h.commit(ctx, func(st *state) (*draft, error) {
			switch {
			case st.Meta == nil:
				return nil, session.ErrNotFound
			case m.Head != st.Meta.Head || m.HeadDigest != st.Meta.HeadDigest || m.Deleted != st.Meta.Deleted:
				return nil, &session.Error{Seq: st.Meta.Head, Err: session.ErrConflict}
			}
			next, to := *st, m
			next.Meta = &to
			return &draft{entry: entryMeta, state: next}, nil
		})
	})
}
