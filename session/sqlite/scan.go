package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Records are fetched in chunks, each in a short transaction, and yielded
// between them, so that a slow reader does not block a connection or the journal.
const (
	firstRows  = 64
	chunkRows  = 1024
	chunkBytes = 1 << 20
)

// A chunk is read by key, using the index to find the row of each record. If the
// rows of its records are close together, it is read by row: only the table, from the
// first to the last. Later records of a session have greater rows.
const (
	recordColumns = `SELECT key, id, time_ms, kind, chain, payload FROM records `
	ownKey        = `(SELECT num << 32 FROM sessions WHERE id = ?)`
	keysUp        = recordColumns + `WHERE key > ` + ownKey + ` + ? AND key <= ` + ownKey + ` + ? ORDER BY key`
	keysDown      = keysUp + ` DESC`
	rowsUp        = recordColumns + `NOT INDEXED WHERE row BETWEEN ? AND ? AND key BETWEEN ? AND ? ORDER BY row`
	rowsDown      = rowsUp + ` DESC`
	selectSpan    = `SELECT num << 32,
  (SELECT row FROM records WHERE key = num << 32 | ?), (SELECT row FROM records WHERE key = num << 32 | ?)
  FROM sessions WHERE id = ?`
)

// maxSkippedRows is the maximum number of rows of other sessions that are read, on average, for
// each record that is read by row. Such a row costs about as much as an index entry.
const maxSkippedRows = 2

// scan is one Read in progress. The records with low < seq <= high remain.
type scan struct {
	store     *Store
	id        string
	low, high int64
	down      bool
	left      int
	step      int64 // rows of the previous chunk: the first chunks are small, for callers that need only the end
}

// chunk is the result of one step of a scan.
type chunk struct {
	entries []entry
	more    bool // there may be another
	err     error
}

type entry struct {
	session.Record
	err error
}

// start limits the range to the session's current records.
func (sc *scan) start(ctx context.Context) error {
	return sc.store.read(ctx, "read", sc.id, func(c *conn) error {
		r, err := c.row("SELECT head, parent_seq, num FROM sessions WHERE id = ?", sc.id)
		if err != nil {
			return err
		}
		if r == nil {
			return rows.NotFound("read", sc.id)
		}
		head := asInt(r[0])
		if head == 0 { // the row was lost: use its records to find the end of the log
			if head, err = c.lastSeq(asInt(r[2])); err != nil {
				return err
			}
		}
		sc.high = min(sc.high, head)
		sc.low = max(sc.low, asInt(r[1]))
		return nil
	})
}

// next fetches the next chunk, and stores it in spare if spare has room. For an unreadable part of
// the file it returns one entry per lost record.
func (sc *scan) next(ctx context.Context, spare []entry) chunk {
	sc.step = min(max(firstRows, 2*sc.step), chunkRows)
	n := min(int64(sc.left), sc.step, sc.high-sc.low)
	if n <= 0 {
		return chunk{}
	}
	f := fetch{scan: sc, limit: int(n), entries: spare[:0]}
	if cap(spare) < f.limit {
		f.entries = make([]entry, 0, n)
	}
	err := sc.store.read(ctx, "read", sc.id, func(c *conn) error {
		if err := f.byRow(c); err != nil && !isCorrupt(err) {
			return err
		}
		if f.full {
			return nil
		}
		err := f.byKey(c)
		if isCorrupt(err) && sc.low < sc.high {
			f.markLost(err)
			return nil
		}
		return err
	})
	return chunk{entries: f.entries, more: f.full && sc.left > 0 && sc.low < sc.high, err: err}
}

// fetch builds one chunk.
type fetch struct {
	*scan
	limit   int
	entries []entry
	bytes   int
	full    bool
}

// add adds a record and reports whether the chunk has room for another.
func (f *fetch) add(e entry) bool {
	f.entries = append(f.entries, e)
	f.bytes += len(e.Payload)
	f.left--
	if f.down {
		f.high = e.Seq - 1
	} else {
		f.low = e.Seq
	}
	f.full = len(f.entries) == f.limit || f.bytes >= chunkBytes
	return !f.full
}

// byRow reads records as long as they are close together and each is the expected next one.
// Other records are left to byKey.
func (f *fetch) byRow(c *conn) error {
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() { _, _ = c.exec("ROLLBACK") }() // read only
	first, last := f.low+1, f.low+int64(f.limit)
	if f.down {
		first, last = f.high-int64(f.limit)+1, f.high
	}
	r, err := c.row(selectSpan, first, last, f.id)
	if err != nil || r == nil || r[1] == nil || r[2] == nil {
		return err
	}
	base, from, to := asInt(r[0]), asInt(r[1]), asInt(r[2])
	if to-from >= maxSkippedRows*int64(f.limit) {
		return nil
	}
	sql := rowsUp
	if f.down {
		sql = rowsDown
	}
	return c.query(sql, func(r []driver.Value) bool {
		e := scanRecord(f.id, r)
		if f.down && e.Seq != f.high || !f.down && e.Seq != f.low+1 {
			return false
		}
		return f.add(e)
	}, from, to, base|first, base|last)
}

// byKey reads as many records as the chunk has room for, wherever they are.
func (f *fetch) byKey(c *conn) error {
	sql := keysUp
	if f.down {
		sql = keysDown
	}
	return c.query(sql, func(r []driver.Value) bool {
		return f.add(scanRecord(f.id, r))
	}, f.id, f.low, f.id, f.high)
}

// markLost adds an entry for the next record, which cannot be read.
func (f *fetch) markLost(err error) {
	seq := f.low + 1
	if f.down {
		seq = f.high
	}
	f.add(entry{Record: session.Record{Seq: seq}, err: rows.Damaged(f.id, seq, err.Error())})
	f.full = true
}

func scanRecord(id string, r []driver.Value) entry {
	e := entry{Record: session.Record{
		Seq: asInt(r[0]) & maxSeq, ID: asText(r[1]), Time: time.UnixMilli(asInt(r[2])).UTC(),
		Kind: session.Kind(asText(r[3])), Payload: asBlob(r[5]),
	}}
	chain := asBlob(r[4])
	if len(chain) != 96 {
		return entry{Record: session.Record{Seq: e.Seq}, err: rows.Damaged(id, e.Seq, "the digests are not 96 bytes")}
	}
	copy(e.Prev[:], chain)
	copy(e.Body[:], chain[32:])
	copy(e.Digest[:], chain[64:])
	return e
}
