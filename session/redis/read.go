package redis

import (
	"context"
	"iter"
	"math"

	"github.com/holdfast-dev/holdfast/session"
)

// The approximate sizes of a chunk of records.
const (
	chunkRecords = 512
	chunkBytes   = 1 << 20
)

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		sc := scan{store: s, id: id, low: max(r.After, 0), high: maxSeq, down: r.Reverse, left: math.MaxInt}
		if r.Until > 0 {
			sc.high = min(r.Until, maxSeq)
		}
		if r.Limit > 0 {
			sc.left = r.Limit
		}
		for more := true; more; {
			records, err := sc.next(ctx)
			if err != nil {
				yield(session.Record{}, err)
				return
			}
			more = sc.left > 0 && sc.low < sc.high
			for i := range records {
				if err := ctx.Err(); err != nil {
					yield(session.Record{}, err)
					return
				}
				if !yield(records[i].Record, records[i].err) {
					return
				}
			}
		}
	}
}

// scan is one Read in progress. The records with low < seq <= high remain.
type scan struct {
	store     *Store
	id        string
	low, high int64
	down      bool
	left      int
}

type entry struct {
	session.Record
	err error
}

// next fetches a chunk, and with the first one the session's current range.
func (sc *scan) next(ctx context.Context) ([]entry, error) {
	out, err := sc.store.run(ctx, "read", sc.id, readScript(), sc.low, sc.high, sc.down, min(sc.left, chunkRecords), chunkBytes)
	if err != nil {
		return nil, err
	}
	sc.low, sc.high = out.number(1), out.number(2)
	first, n := out.number(3), out.number(4)
	records := out[min(5, len(out)):]
	entries := make([]entry, n)
	for i := range entries {
		seq, at := first+int64(i), i
		if sc.down {
			at = len(entries) - 1 - i
		}
		if i >= len(records) {
			entries[at] = entry{session.Record{Seq: seq}, damaged(sc.id, seq, "the record is missing")}
			continue
		}
		text, _ := records[i].(string)
		r, err := unpackRecord(text)
		switch {
		case err != nil:
			entries[at] = entry{session.Record{Seq: seq}, damaged(sc.id, seq, err.Error())}
		case r.Seq != seq:
			entries[at] = entry{session.Record{Seq: seq}, damaged(sc.id, seq, "another record has its place")}
		default:
			entries[at] = entry{Record: r}
		}
	}
	sc.left -= len(entries)
	if sc.down {
		sc.high -= n
	} else {
		sc.low += n
	}
	if n <= 0 {
		sc.left = 0
	}
	return entries, nil
}

func damaged(id string, seq int64, detail string) error {
	return &session.Error{
		Op: "read", Session: id, Seq: seq, Err: session.ErrCorrupt, Detail: detail,
		Hint: "run: holdfast sessions verify " + id,
	}
}
