package object

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// handle is the state of a session as a client last saw it. This state may be older than the
// bucket's. A decision based on it takes effect only if the client can create the next slot of the
// log, and this fails if the state is outdated. Errors such as ErrConflict are returned only after
// reading the current state.
//
// This is safe although slots are removed later, because of an invariant: at the server time in
// seen, no root included a slot after st.Slot. Slots are removed when a root has included them for
// an hour. Therefore, for the duration [Store.fresh] after seen, all slots after st.Slot that were
// ever written still exist.
type handle struct {
	s  *Store
	id string

	mu   lock // guards st, seen and root
	root *root
	etag string // etag of the root's object, or "" if there is none
	st   state
	seen time.Time
	live int64 // bytes of the slots that this client wrote since root

	folding lock // held while root is being replaced
}

// lock is a mutex whose Lock can be cancelled by a context.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lock) unlock() { <-l }

// exists reports whether there is a log. It may be the log of a session or only of a lease.
func (h *handle) exists() bool { return h.root != nil && !h.root.Vacant }

// isInconclusive reports whether an answer at this server time does not prove that a slot exists or
// does not exist.
func (h *handle) isInconclusive(date time.Time) bool {
	return date.IsZero() || h.seen.IsZero() || date.Sub(h.seen) > h.s.headTTL
}

// load reads the root and discards all other cached data.
func (h *handle) load(ctx context.Context) error {
	r, o, err := h.s.loadRoot(ctx, rootKey(h.id))
	if err != nil {
		return err
	}
	h.root, h.etag, h.st, h.seen, h.live = r, o.etag, state{}, o.date, 0
	if h.exists() {
		h.st = r.State
	}
	if r != nil && !r.Vacant && r.ID != h.id {
		return fmt.Errorf("%w: %s belongs to session %q", errDamaged, rootKey(h.id), r.ID)
	}
	if !h.exists() {
		return nil
	}
	// There may be many later slots; the last one has the whole state.
	last := h.st.Slot
	for o, err := range h.s.bucket.list(ctx, path.Dir(slotKey(r.Log, 0))+"/", slotKey(r.Log, h.st.Slot)) {
		if err != nil {
			return err
		}
		if _, slot, ok := parseSlot(o.key); ok {
			last = max(last, slot)
		}
	}
	if last == h.st.Slot {
		return nil
	}
	e, _, err := h.s.head(ctx, r.Log, last)
	if err != nil || e.Entry == entryFolded {
		if errors.Is(err, errMissing) || err == nil {
			return errMoved
		}
		return err
	}
	h.st = *e.State
	return nil
}

// errMoved means that slots were folded and removed while they were being read.
var errMoved = errors.New("the objects of the log were merged while they were read")

// loadRoot reads a root, or returns nil if there is none.
func (s *Store) loadRoot(ctx context.Context, key string) (*root, object, error) {
	o, err := s.bucket.get(ctx, key, 0)
	if errors.Is(err, errMissing) {
		return nil, object{date: o.date}, nil
	}
	if err != nil {
		return nil, o, err
	}
	var r root
	if err := unmarshal(o.body, &r); err != nil {
		return nil, o, fmt.Errorf("%w: %s", err, key)
	}
	if r.State.Slot < 0 || r.Log == "" {
		return nil, o, fmt.Errorf("%w: %s", errDamaged, key)
	}
	return &r, o, nil
}

// headBytes is enough for the first line of a slot.
const headBytes = 16 << 10

// head reads the header of a slot.
func (s *Store) head(ctx context.Context, log string, slot int64) (header, time.Time, error) {
	key := slotKey(log, slot)
	o, err := s.bucket.get(ctx, key, headBytes)
	if err != nil {
		return header{}, o.date, err
	}
	e, _, err := decodeEntry(o.body)
	if err != nil && len(o.body) == headBytes {
		if o, err = s.bucket.get(ctx, key, 0); err == nil {
			e, _, err = decodeEntry(o.body)
		}
	}
	if err != nil {
		return e, o.date, fmt.Errorf("%w: %s", err, key)
	}
	if e.State != nil && e.State.Slot != slot {
		return e, o.date, fmt.Errorf("%w: %s belongs to slot %d", errDamaged, key, e.State.Slot)
	}
	return e, o.date, nil
}

// sync brings h up to date with the bucket, including everything acknowledged before the call.
func (h *handle) sync(ctx context.Context) error {
	reload := h.root == nil || h.root.Vacant
	for try := 0; ; try++ {
		if reload {
			if err := h.load(ctx); errors.Is(err, errMoved) && try < movedTries {
				continue
			} else if err != nil {
				h.root = nil
				return err
			}
			if !h.exists() {
				return nil
			}
		}
		e, date, err := h.s.head(ctx, h.root.Log, h.st.Slot+1)
		switch {
		case err != nil && !errors.Is(err, errMissing):
			return err
		case h.isInconclusive(date) && try > movedTries:
			return errors.New("the server answers too slowly, or does not send its time")
		case h.isInconclusive(date) || err == nil && e.Entry == entryFolded:
			reload = true // the time in seen is too old
		case err != nil:
			h.seen = date
			if h.st.deleted() { // the root shows whether the session was removed completely
				return h.followDeleted(ctx)
			}
			return nil
		default:
			h.st, reload, try = *e.State, false, 0
		}
	}
}

// movedTries is the maximum number of times that a read restarts because slots were folded
// meanwhile.
const movedTries = 50

// followDeleted checks whether a deleted session was removed completely.
func (h *handle) followDeleted(ctx context.Context) error {
	r, o, err := h.s.loadRoot(ctx, rootKey(h.id))
	if err != nil {
		return err
	}
	if r == nil || r.Log != h.root.Log || r.Vacant || r.State.deleted() {
		return h.load(ctx)
	}
	h.root, h.etag = r, o.etag
	return nil
}

// draft is a slot to be written.
type draft struct {
	entry   string
	records []session.Record
	state   state
	log     string // name of the log, if it is new
}

// unsureTries is the maximum number of times that a slot is written again because the outcome is
// unknown.
const unsureTries = 3

// commit atomically writes the slot that the function step returns for the state. If another client
// takes the slot first, step is called again. If step returns a nil draft, there is nothing to
// write. h.mu is held.
func (h *handle) commit(ctx context.Context, step func(*state) (*draft, error)) error {
	known := false
	look := func() error {
		known = true
		return h.sync(ctx)
	}
	if h.root == nil || h.root.Vacant {
		if err := look(); err != nil {
			return err
		}
	}
	for failed := 0; ; {
		d, err := step(&h.st)
		if d == nil {
			if known {
				return err
			}
			if err := look(); err != nil {
				return err
			}
			continue
		}
		err = h.write(ctx, d)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errTaken) {
			if failed++; failed > unsureTries || ctx.Err() != nil {
				return err
			}
		}
		if again := look(); again != nil {
			return errors.Join(err, again)
		}
	}
}

// write creates the next slot, or the root when there is no log yet.
func (h *handle) write(ctx context.Context, d *draft) error {
	if !h.exists() {
		return h.begin(ctx, d)
	}
	next := d.state
	next.Slot = h.st.Slot + 1
	e := header{Entry: d.entry, State: &next}
	if n := len(d.records); n > 0 {
		e.First, e.Last = d.records[0].Seq, d.records[n-1].Seq
	}
	body, err := encodeEntry(e, d.records)
	if err != nil {
		return invalid(err)
	}
	o, err := h.s.bucket.create(ctx, slotKey(h.root.Log, next.Slot), body)
	if err != nil {
		return err
	}
	if h.isInconclusive(o.date) {
		// The slot may have been written earlier and removed since. Then a root includes
		// it; the root also includes the slot if this write succeeded and was folded at once.
		r, _, err := h.s.loadRoot(ctx, rootKey(h.id))
		if err != nil {
			h.root = nil
			return err
		}
		if r == nil || r.Vacant || r.Log != h.root.Log || r.State.Slot >= next.Slot {
			h.root = nil
			return errTaken
		}
	}
	h.st, h.seen = next, o.date
	h.live += int64(len(body))
	h.s.foldIfLarge(h)
	return nil
}

// begin creates a log. The first content of the log is a segment. The log exists once the root is
// written.
func (h *handle) begin(ctx context.Context, d *draft) error {
	r := root{Format: formatVersion, ID: h.id, Log: d.log, Op: unique(), Gen: 1, State: d.state}
	if r.Log == "" {
		r.Log = unique()
	}
	if h.root != nil {
		r.Gen = h.root.Gen + 1
	}
	var lines []byte
	if n := len(d.records); n > 0 {
		lines = appendRecords(nil, d.records)
		r.Segments = []segment{{segmentKey(r.Log, r.Gen), d.records[0].Seq, d.records[n-1].Seq, int64(len(lines))}}
		if err := h.s.bucket.put(ctx, r.Segments[0].Key, lines); err != nil {
			return err
		}
	}
	from := h.seen
	if err := h.putRoot(ctx, &r); err != nil {
		return err
	}
	if len(lines) > 0 && (from.IsZero() || h.seen.Sub(from) > h.s.headTTL) {
		// After this time, Sweep may have removed the segment as unused.
		return h.s.bucket.put(ctx, r.Segments[0].Key, lines)
	}
	return nil
}

// putRoot replaces the root known to h. h.mu is held.
func (h *handle) putRoot(ctx context.Context, r *root) error {
	o, err := h.s.writeRoot(ctx, rootKey(h.id), h.etag, r)
	if err != nil {
		return err
	}
	h.root, h.etag, h.st, h.seen, h.live = r, o.etag, r.State, o.date, 0
	return nil
}

// writeRoot replaces a root with an etag, "" for none. If the answer was lost, it checks whether
// the root was written.
func (s *Store) writeRoot(ctx context.Context, key, etag string, r *root) (o object, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return object{}, invalid(err)
	}
	body = append(body, '\n')
	if etag == "" {
		o, err = s.bucket.create(ctx, key, body)
	} else {
		o, err = s.bucket.replace(ctx, key, etag, body)
	}
	if err == nil || ctx.Err() != nil {
		return o, err
	}
	if now, o, again := s.loadRoot(ctx, key); again == nil && now != nil && now.Op == r.Op {
		return o, nil
	}
	return o, err
}

func invalid(err error) error {
	return &session.Error{Err: session.ErrInvalid, Detail: err.Error()}
}
