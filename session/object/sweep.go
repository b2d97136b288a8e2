package object

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Sweep completes interrupted deletes and removes unused objects: small objects that were folded
// an hour ago, and leftovers of crashes. Any number of clients may call it at any time; it only
// reduces the number of objects. It returns how many it removed. It lists the whole prefix.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return 0, s.explain(ctx, "sweep", "", session.ErrClosed)
	}
	n, err := s.sweep(ctx)
	return n, s.explain(ctx, "sweep", "", err)
}

func (s *Store) sweep(ctx context.Context) (int, error) {
	o, err := s.listRoots(ctx)
	if err != nil {
		return 0, err
	}
	probe, err := s.bucket.get(ctx, formatKey, 0)
	if err != nil {
		return 0, err
	}
	w := sweeper{s: s, now: probe.date, roots: map[string]knownSession{}}
	for _, k := range o.sessions {
		if k.root != nil && !k.root.Vacant {
			w.roots[k.root.Log] = k
		}
	}
	if err := w.sweepPins(ctx); err != nil {
		return 0, err
	}
	for _, k := range o.sessions {
		if !k.state.deleted() {
			continue
		}
		h := newHandle(s, k.state.Meta.ID)
		if err := h.removeUnused(ctx); err != nil {
			return 0, err
		}
	}
	w.sweepSlots(o.slots)
	if err := w.sweepSegments(ctx); err != nil {
		return 0, err
	}
	return len(w.keys), s.bucket.remove(ctx, w.keys)
}

// sweeper collects the objects to remove.
type sweeper struct {
	s     *Store
	now   time.Time // by the server's clock
	roots map[string]knownSession
	keys  []string
}

func (w *sweeper) old(modified time.Time) bool {
	return !w.now.IsZero() && w.now.Sub(modified) > w.s.slotTTL
}

// sweepPins removes the pins of forks that were never created or are deleted. A pin is an object
// that registers a fork in its parent.
func (w *sweeper) sweepPins(ctx context.Context) error {
	var keys []string
	for o, err := range w.s.bucket.list(ctx, pinsPrefix, "") {
		if err != nil {
			return err
		}
		p, ok := parsePin(o.key)
		if !ok || !w.old(o.modified) {
			continue
		}
		k, there := w.roots[p.log]
		if !there || k.state.Meta == nil || k.state.Parent != p.parent {
			keys = append(keys, o.key)
		}
	}
	return w.s.bucket.remove(ctx, keys)
}

// sweepSlots removes slots that roots have included for a long time. The last slot of a log without
// a root was written while its session was deleted, or never took effect.
func (w *sweeper) sweepSlots(all []listed) {
	newest := map[string]time.Time{}
	for _, o := range all {
		if log, _, ok := parseSlot(o.key); ok && o.modified.After(newest[log]) {
			newest[log] = o.modified
		}
	}
	for _, o := range all {
		log, slot, ok := parseSlot(o.key)
		if !ok {
			continue
		}
		k, named := w.roots[log]
		switch {
		case !named && w.old(newest[log]),
			named && slot <= k.root.droppable(w.now, w.s.slotTTL),
			named && slot <= k.root.State.Slot && w.old(k.modified):
			w.keys = append(w.keys, o.key)
		}
	}
}

// sweepSegments removes segments that no root names now or later.
func (w *sweeper) sweepSegments(ctx context.Context) error {
	for o, err := range w.s.bucket.list(ctx, segmentsPrefix, "") {
		if err != nil {
			return err
		}
		log, _, ok := parseSegment(o.key)
		if !ok {
			continue
		}
		k, named := w.roots[log]
		if named && k.root.unused(o.key) || !named && w.old(o.modified) {
			w.keys = append(w.keys, o.key)
		}
	}
	return nil
}
