package object

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		var sc *scan
		err := s.withHandle(ctx, "read", id, func(h *handle) error {
			if err := h.sync(ctx); err != nil {
				return err
			}
			if h.st.Meta == nil {
				return session.ErrNotFound
			}
			sc = h.scan(r)
			return nil
		})
		if err != nil {
			yield(session.Record{}, err)
			return
		}
		for rec, err := range sc.all(ctx) {
			if err != nil {
				err = s.explain(ctx, "read", id, err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// scan is one Read in progress. The records with low < seq <= high remain. Objects change only by
// erasing and folding; then objects are missing or folded, and the scan continues with a new root.
type scan struct {
	s         *Store
	id        string
	log       string
	segments  []segment
	folded    int64 // the last slot included in segments
	slot      int64 // the last slot
	low, high int64
	down      bool
	left      int
	lost      map[int64]bool // slots that should exist but are missing
}

func (h *handle) scan(r session.Range) *scan {
	sc := &scan{
		s: h.s, id: h.id, log: h.root.Log, segments: h.root.Segments, folded: h.root.State.Slot, slot: h.st.Slot,
		low: max(r.After, h.st.Meta.ParentSeq), high: h.st.Meta.Head, down: r.Reverse, left: r.Limit,
	}
	if r.Until != 0 {
		sc.high = min(sc.high, r.Until)
	}
	if r.Limit <= 0 {
		sc.left = int(^uint(0) >> 1)
	}
	return sc
}

// all yields the remaining records.
func (sc *scan) all(ctx context.Context) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for moved := 0; sc.low < sc.high && sc.left > 0; {
			part, err := sc.readPart(ctx)
			if errors.Is(err, errMoved) && moved < movedTries {
				moved++
				err = sc.reload(ctx)
				if err == nil {
					continue
				}
			}
			if err != nil {
				yield(session.Record{}, err)
				return
			}
			if !sc.give(ctx, part, yield) {
				return
			}
		}
	}
}

// part is some of the next records, in any order, with the range of seqs that it covers.
type part struct {
	first, last int64
	records     []session.Record
}

// readPart reads the segment that has the next record, or the slots if no segment has it.
func (sc *scan) readPart(ctx context.Context) (part, error) {
	at := sc.low + 1
	if sc.down {
		at = sc.high
	}
	for _, g := range sc.segments {
		if at < g.First || at > g.Last {
			continue
		}
		if sc.down && at == g.Last && sc.left <= tailRecords && g.Bytes > 2*tailBytes {
			if p, err := sc.readEnd(ctx, g); err != nil || len(p.records) > 0 {
				return p, err
			}
		}
		o, err := sc.s.bucket.get(ctx, g.Key, 0)
		if errors.Is(err, errMissing) {
			return sc.onMissing(-g.First, part{first: g.First, last: g.Last})
		}
		return part{g.First, g.Last, parseRecords(o.body)}, err
	}
	if at <= sc.lastSegmentSeq() {
		return part{first: at, last: at}, nil
	}
	return sc.readTail(ctx)
}

// A few records are read from the last bytes of a segment.
const (
	tailRecords = 200
	tailBytes   = 256 << 10
)

// readEnd reads the last bytes of a segment, which may not contain a complete record.
func (sc *scan) readEnd(ctx context.Context, g segment) (part, error) {
	o, err := sc.s.bucket.getRange(ctx, g.Key, g.Bytes-tailBytes, g.Bytes-1)
	if errors.Is(err, errMissing) {
		return sc.onMissing(-g.First, part{first: g.First, last: g.Last})
	}
	if err != nil {
		return part{}, err
	}
	_, lines, _ := bytes.Cut(o.body, []byte("\n"))
	p := part{last: g.Last, records: parseRecords(lines)}
	if len(p.records) > 0 {
		p.first = p.records[0].Seq
	}
	return p, nil
}

// onMissing handles a missing object. The first time, the object may have been folded; after that
// it is lost. Segments have numbers below 0.
func (sc *scan) onMissing(number int64, empty part) (part, error) {
	if sc.lost[number] {
		return empty, nil
	}
	if sc.lost == nil {
		sc.lost = map[int64]bool{}
	}
	sc.lost[number] = true
	return part{}, errMoved
}

// readTail reads slots from the last one backwards, as far as the range needs them.
func (sc *scan) readTail(ctx context.Context) (part, error) {
	p := part{first: sc.lastSegmentSeq() + 1, last: sc.high}
	for to := sc.slot; to > sc.folded; {
		from := max(to-parallel, sc.folded)
		entries, err := sc.s.entries(ctx, sc.log, from, to)
		if err != nil {
			return p, err
		}
		to = from
		for _, e := range slices.Backward(entries) {
			if e.gone {
				if _, err := sc.onMissing(e.slot, part{}); err != nil {
					return p, err
				}
			}
			p.records = append(p.records, e.records...)
			if e.First != 0 && (e.First <= sc.low+1 || sc.down && sc.high-e.First >= int64(sc.left)) {
				p.first = e.First
				return p, nil
			}
		}
	}
	return p, nil
}

// lastSegmentSeq returns the last seq in segments.
func (sc *scan) lastSegmentSeq() int64 {
	if n := len(sc.segments); n > 0 {
		return sc.segments[n-1].Last
	}
	return 0
}

// reload loads a new root and continues at the same record.
func (sc *scan) reload(ctx context.Context) error {
	h := newHandle(sc.s, sc.id)
	if err := h.sync(ctx); err != nil {
		return err
	}
	if h.st.Meta == nil || h.root.Log != sc.log {
		return session.ErrNotFound
	}
	if h.root.State.Slot > sc.folded || len(h.root.Segments) != len(sc.segments) || !slices.Equal(h.root.Segments, sc.segments) {
		sc.lost = nil
	}
	sc.segments, sc.folded, sc.slot = h.root.Segments, h.root.State.Slot, h.st.Slot
	sc.high = min(sc.high, h.st.Meta.Head) // the head is smaller if the session was deleted meanwhile
	return nil
}

// give yields the records of a part in order, and an error for each missing record.
func (sc *scan) give(ctx context.Context, p part, yield func(session.Record, error) bool) bool {
	found := make(map[int64]session.Record, len(p.records))
	for _, r := range p.records {
		if _, twice := found[r.Seq]; !twice {
			found[r.Seq] = r
		}
	}
	from, to := sc.low+1, min(sc.high, p.last)
	if sc.down {
		from, to = max(sc.low+1, p.first), sc.high
	}
	for n := to - from + 1; n > 0 && sc.left > 0; n-- {
		if err := ctx.Err(); err != nil {
			yield(session.Record{}, err)
			return false
		}
		seq := sc.low + 1
		if sc.down {
			seq = sc.high
			sc.high--
		} else {
			sc.low++
		}
		sc.left--
		r, ok := found[seq]
		var err error
		if ok && r.Check() != nil {
			r, ok = session.Record{}, false
		}
		if !ok {
			err = damaged(seq, "the record is missing or cannot be read")
		}
		if !yield(r, err) {
			return false
		}
	}
	return true
}

func damaged(seq int64, detail string) error {
	return &session.Error{Seq: seq, Err: session.ErrCorrupt, Detail: detail}
}

// entry is a slot that was read.
type entry struct {
	header
	slot    int64
	gone    bool // removed or folded
	lines   []byte
	records []session.Record
}

// entries reads the slots after slot from, up to slot to.
func (s *Store) entries(ctx context.Context, log string, from, to int64) ([]entry, error) {
	all := make([]entry, to-from)
	for i := range all {
		all[i].slot = from + int64(i) + 1
	}
	at := make([]int, len(all))
	for i := range at {
		at[i] = i
	}
	return all, inParallel(ctx, at, func(ctx context.Context, i int) error {
		e := &all[i]
		o, err := s.bucket.get(ctx, slotKey(log, e.slot), 0)
		if errors.Is(err, errMissing) {
			e.gone = true
			return nil
		}
		if err != nil {
			return err
		}
		e.header, e.lines, err = decodeEntry(o.body)
		if errors.Is(err, session.ErrNewer) {
			return err
		}
		e.gone = err == nil && e.Entry == entryFolded
		e.records = parseRecords(e.lines)
		if e.First == 0 && len(e.records) > 0 { // the header is damaged
			e.First, e.Last = e.records[0].Seq, e.records[len(e.records)-1].Seq
		}
		return nil
	})
}
