package object

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Folding moves the content of many slots into few segments. A crash at any point leaves
// the old log and unreferenced segments:
//
//	write segments ─► replace the root, If-Match ─► remove what it no longer names
//
// If several clients fold at once, the first one to replace the root wins. The segments of the
// other clients have an old generation number, by which [Store.Sweep] finds them. If a reader finds
// that an object is missing, it loads the new root and continues after the last record that it
// read.

const (
	segmentBytes = 8 << 20
	coverEvery   = 10 * time.Minute
)

// edit changes the records of a log while it is folded.
type edit struct {
	touches func(first, last int64) bool // segments with these seqs must be rewritten
	record  func(*session.Record) bool   // changes a record; false drops it
	root    func(*root)                  // changes the root
}

// worthFolding reports whether a session has more than n slots that no root includes.
func (h *handle) worthFolding(n int64) bool {
	if h.mu.lock(h.s.ctx) != nil {
		return false
	}
	defer h.mu.unlock()
	return h.exists() && h.live > 0 && h.st.Slot-h.root.State.Slot > n
}

// fold folds the slots of a session.
func (h *handle) fold(ctx context.Context) error {
	if err := h.folding.lock(ctx); err != nil {
		return err
	}
	defer h.folding.unlock()
	return h.foldLocked(ctx, nil)
}

// foldLocked is fold while h.folding is held and h.mu is not.
func (h *handle) foldLocked(ctx context.Context, e *edit) error {
	for range movedTries {
		if err := h.mu.lock(ctx); err != nil {
			return err
		}
		err := h.sync(ctx)
		look := handle{s: h.s, id: h.id, root: h.root, etag: h.etag, st: h.st, seen: h.seen}
		h.mu.unlock()
		if err != nil {
			return err
		}
		if !look.exists() {
			return nil
		}
		r, o, err := look.writeFolded(ctx, e)
		if errors.Is(err, errTaken) || errors.Is(err, errMoved) {
			if err := h.mu.lock(ctx); err != nil {
				return err
			}
			h.root = nil // load again
			h.mu.unlock()
			continue
		}
		if err != nil || r == nil {
			return err
		}
		if err := h.mu.lock(ctx); err != nil {
			return err
		}
		if h.root != nil && h.root.Log == r.Log && h.root.Gen < r.Gen {
			h.root, h.etag, h.live = r, o.etag, 0
			if h.st.Slot < r.State.Slot {
				h.root = nil
			}
		}
		h.mu.unlock()
		return h.s.forget(ctx, look.root, r)
	}
	return errMoved
}

// writeFolded writes segments and a root that names them, or returns nil if there is nothing to do.
func (h *handle) writeFolded(ctx context.Context, e *edit) (*root, object, error) {
	if e == nil && h.st.Slot == h.root.State.Slot {
		return nil, object{}, nil
	}
	r := *h.root
	r.Gen, r.Op, r.State, r.Segments = r.Gen+1, unique(), h.st, nil
	w := segmentWriter{s: h.s, r: &r, e: e}
	if err := w.addOld(ctx, h.root.Segments); err != nil {
		return nil, object{}, err
	}
	if err := w.addSlots(ctx, h.root.State.Slot, h.st.Slot); err != nil {
		return nil, object{}, err
	}
	if err := w.flush(ctx); err != nil {
		return nil, object{}, err
	}
	r.Covered = h.root.covered(h.seen)
	if e != nil && e.root != nil {
		e.root(&r)
	}
	o, err := h.s.writeRoot(ctx, rootKey(h.id), h.etag, &r)
	return &r, o, err
}

// covered returns the coverage for later roots. h.seen is a server time at which r existed.
func (r *root) covered(now time.Time) []coverage {
	all := append([]coverage(nil), r.Covered...)
	if n := len(all); n == 0 || now.Sub(all[n-1].Since) >= coverEvery {
		all = append(all, coverage{r.State.Slot, now})
	}
	for len(all) > 1 && now.Sub(all[1].Since) > 2*slotTTL {
		all = all[1:]
	}
	return all
}

// droppable returns the last slot that can be removed: roots have included it for so long that no
// client reads it any longer or treats its key as unused.
func (r *root) droppable(now time.Time, kept time.Duration) int64 {
	slot := int64(0)
	for _, c := range r.Covered {
		if now.Sub(c.Since) > kept {
			slot = max(slot, c.Slot)
		}
	}
	return slot
}

// segmentWriter collects lines of records and writes them as segments of a new root.
type segmentWriter struct {
	s           *Store
	r           *root
	e           *edit
	lines       []byte
	first, last int64
}

// addOld adds the existing segments to the new root. Small segments at the end are merged with the
// new lines. A segment is rewritten at most once each time its size doubles.
func (w *segmentWriter) addOld(ctx context.Context, all []segment) error {
	keep := len(all)
	if w.e == nil {
		size := int64(foldBytes / 64)
		for keep > 0 && all[keep-1].Bytes < 2*size && size+all[keep-1].Bytes <= segmentBytes {
			keep--
			size += all[keep].Bytes
		}
	}
	for i, g := range all {
		if i < keep && (w.e == nil || !w.e.touches(g.First, g.Last)) {
			w.r.Segments = append(w.r.Segments, g)
			continue
		}
		o, err := w.s.bucket.get(ctx, g.Key, 0)
		if errors.Is(err, errMissing) {
			return errMoved
		}
		if err != nil {
			return err
		}
		if err := w.add(ctx, g.First, g.Last, o.body); err != nil {
			return err
		}
	}
	return nil
}

// addSlots adds the slots after slot from, up to slot to.
func (w *segmentWriter) addSlots(ctx context.Context, from, to int64) error {
	for ; from < to; from = min(from+parallel, to) {
		entries, err := w.s.entries(ctx, w.r.Log, from, min(from+parallel, to))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.gone {
				return errMoved
			}
			if e.First == 0 {
				continue
			}
			if err := w.add(ctx, e.First, e.Last, e.lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds lines. Unreadable lines are kept unchanged, unless the records are edited.
func (w *segmentWriter) add(ctx context.Context, first, last int64, lines []byte) error {
	if w.e != nil && w.e.touches(first, last) {
		var kept []session.Record
		for _, r := range parseRecords(lines) {
			if w.e.record(&r) {
				kept = append(kept, r)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		first, last = kept[0].Seq, kept[len(kept)-1].Seq
		lines = appendRecords(nil, kept)
	}
	if len(w.lines) > 0 && len(w.lines)+len(lines) > segmentBytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if len(w.lines) == 0 {
		w.first = first
	}
	w.last = last
	w.lines = append(w.lines, lines...)
	return nil
}

func (w *segmentWriter) flush(ctx context.Context) error {
	if len(w.lines) == 0 {
		return nil
	}
	g := segment{segmentKey(w.r.Log, w.r.Gen), w.first, w.last, int64(len(w.lines))}
	if err := w.s.bucket.put(ctx, g.Key, w.lines); err != nil {
		return err
	}
	w.r.Segments = append(w.r.Segments, g)
	w.lines = nil
	return nil
}

// forget removes the segments that a root named and its successor does not name, and slots that
// roots have included for a long time. If it fails, Sweep removes them later.
func (s *Store) forget(ctx context.Context, was, is *root) error {
	used := map[string]bool{}
	for _, g := range is.Segments {
		used[g.Key] = true
	}
	var keys []string
	for _, g := range was.Segments {
		if !used[g.Key] {
			keys = append(keys, g.Key)
		}
	}
	return s.bucket.remove(ctx, keys)
}
