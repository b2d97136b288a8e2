package mysql

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Records are fetched in chunks and handed out between them, so that a reader who takes
// its time holds no connection. The first chunk is small: how big the records of a
// session are is seen in it.
const (
	firstRows  = 64
	mostRows   = 4096
	chunkBytes = 1 << 20
)

const (
	recordsUp   = "SELECT " + rows.RecordColumns + " FROM records WHERE num = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
	recordsDown = "SELECT " + rows.RecordColumns + " FROM records WHERE num = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
	selectTop   = "SELECT deleted, (SELECT COALESCE(MAX(seq), 0) FROM records r WHERE r.num = s.num) FROM sessions s WHERE num = ?"
)

// scan is one Read under way: what is left of it is the records with a seq above low
// and not above high.
type scan struct {
	store     *Store
	id        string
	num       int64
	low, high int64
	down      bool
	left      int
	rows      int // of the next chunk
}

// entry is a record, or why it cannot be read.
type entry struct {
	session.Record
	err error
}

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		sc := scan{store: s, id: id, low: max(r.After, 0), high: rows.MaxSeq, down: r.Reverse, left: math.MaxInt, rows: firstRows}
		if r.Until > 0 {
			sc.high = min(r.Until, rows.MaxSeq)
		}
		if r.Limit > 0 {
			sc.left = r.Limit
		}
		err := sc.start(ctx)
		for more := true; more && err == nil; {
			var chunk []entry
			chunk, more, err = sc.next(ctx)
			for i := range chunk {
				if !yield(chunk[i].Record, chunk[i].err) {
					return
				}
			}
		}
		if err != nil {
			yield(session.Record{}, err)
		}
	}
}

// start bounds the range by what the session has now.
func (sc *scan) start(ctx context.Context) error {
	return sc.store.on(ctx, "read", sc.id, func(t *tx) error {
		var head, below int64
		found, err := t.row([]any{&sc.num, &head, &below}, "SELECT num, head, parent_seq FROM sessions WHERE id = ?", []byte(sc.id))
		if err != nil {
			return err
		}
		if !found {
			return rows.NotFound("read", sc.id)
		}
		sc.high, sc.low = min(sc.high, head), max(sc.low, below)
		return nil
	})
}

// next fetches the next chunk and reports whether there may be another.
func (sc *scan) next(ctx context.Context) (chunk []entry, more bool, err error) {
	limit := int(min(int64(sc.left), int64(sc.rows), sc.high-sc.low))
	if limit <= 0 {
		return nil, false, ctx.Err()
	}
	var bytes int
	err = sc.store.on(ctx, "read", sc.id, func(t *tx) error {
		chunk, bytes, err = sc.fetch(t, limit)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if chunk = sc.unbroken(chunk); len(chunk) == 0 {
		return sc.missing(ctx)
	}
	n := len(chunk)
	if last := chunk[n-1].Seq; sc.down {
		sc.high = last - 1
	} else {
		sc.low = last
	}
	sc.left -= n
	sc.rows = max(min(chunkBytes/(bytes/n+128), mostRows), 1)
	return chunk, sc.left > 0 && sc.low < sc.high, nil
}

// turn is the seq of the record that comes next.
func (sc *scan) turn() int64 {
	if sc.down {
		return sc.high
	}
	return sc.low + 1
}

// unbroken is what of a chunk comes before the first record that is missing.
func (sc *scan) unbroken(chunk []entry) []entry {
	step := int64(1)
	if sc.down {
		step = -1
	}
	for i, want := 0, sc.turn(); i < len(chunk); i, want = i+1, want+step {
		if chunk[i].Seq != want {
			return chunk[:i]
		}
	}
	return chunk
}

// missing is told of a record that is not there: the session was deleted meanwhile, or it
// is damaged.
func (sc *scan) missing(ctx context.Context) (chunk []entry, more bool, err error) {
	seq, top := sc.turn(), int64(0)
	err = sc.store.on(ctx, "read", sc.id, func(t *tx) error {
		var deleted bool
		found, err := t.row([]any{&deleted, &top}, selectTop, sc.num)
		if err == nil && (!found || deleted && seq > top) {
			return rows.NotFound("read", sc.id)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	detail := "it is missing"
	if seq > top {
		detail = fmt.Sprintf("it is missing, and so are all behind %d", top)
	}
	switch {
	case sc.down:
		sc.high = min(seq-1, max(top, sc.low))
	case seq > top:
		sc.low = sc.high
	default:
		sc.low = seq
	}
	sc.left--
	lost := entry{session.Record{Seq: seq}, rows.Damaged(sc.id, seq, detail)}
	return []entry{lost}, sc.left > 0 && sc.low < sc.high, nil
}

// fetch reads a chunk, no more of it than the bytes that it may have.
func (sc *scan) fetch(t *tx, limit int) (chunk []entry, bytes int, err error) {
	query := recordsUp
	if sc.down {
		query = recordsDown
	}
	found, err := t.c.QueryContext(t.ctx, query, sc.num, sc.low, sc.high, int64(limit))
	if err != nil {
		return nil, 0, err
	}
	defer found.Close()
	chunk = make([]entry, 0, limit)
	for bytes < chunkBytes && found.Next() {
		var seq, ms int64
		var id, kind, chain, payload []byte
		if err := found.Scan(&seq, &id, &ms, &kind, &chain, &payload); err != nil {
			return nil, 0, err
		}
		r, err := rows.Record(sc.id, seq, string(id), ms, string(kind), chain, payload)
		chunk = append(chunk, entry{r, err})
		bytes += len(payload)
	}
	return chunk, bytes, found.Err()
}
