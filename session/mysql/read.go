package mysql

import (
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Records are fetched in chunks and yielded between them, so that a slow reader
// blocks no connection. The first chunk is small and shows how large the records of the
// session are.
const (
	firstRows  = 64
	maxRows    = 4096
	chunkBytes = 1 << 20
)

const (
	recordsUp   = "SELECT " + rows.RecordColumns + " FROM records WHERE num = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
	recordsDown = "SELECT " + rows.RecordColumns + " FROM records WHERE num = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
	selectTop   = "SELECT deleted, (SELECT COALESCE(MAX(seq), 0) FROM records r WHERE r.num = s.num) FROM sessions s WHERE num = ?"
)

// scan is one Read in progress.
type scan struct {
	rows.ReadRange
	store *Store
	id    string
	num   int64
	rows  int // size of the next chunk
}

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		sc := scan{ReadRange: rows.NewReadRange(r), store: s, id: id, rows: firstRows}
		err := sc.start(ctx)
		for more := true; more && err == nil; {
			var chunk []rows.ReadResult
			chunk, more, err = sc.next(ctx)
			for i := range chunk {
				if !yield(chunk[i].Record, chunk[i].Err) {
					return
				}
			}
		}
		if err != nil {
			yield(session.Record{}, err)
		}
	}
}

// start limits the range to the session's current records.
func (sc *scan) start(ctx context.Context) error {
	return sc.store.withConn(ctx, "read", sc.id, func(t *tx) error {
		var head, below int64
		found, err := t.row([]any{&sc.num, &head, &below}, "SELECT num, head, parent_seq FROM sessions WHERE id = ?", []byte(sc.id))
		if err != nil {
			return err
		}
		if !found {
			return rows.NotFound("read", sc.id)
		}
		sc.Within(below, head)
		return nil
	})
}

// next fetches the next chunk and reports whether there may be another.
func (sc *scan) next(ctx context.Context) (chunk []rows.ReadResult, more bool, err error) {
	limit := int(min(sc.Remaining, int64(sc.rows), sc.High-sc.Low))
	if limit <= 0 {
		return nil, false, ctx.Err()
	}
	var bytes int
	err = sc.store.withConn(ctx, "read", sc.id, func(t *tx) error {
		chunk, bytes, err = sc.fetch(t, limit)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if chunk = sc.Pass(chunk); len(chunk) == 0 {
		return sc.missing(ctx)
	}
	sc.rows = max(min(chunkBytes/(bytes/len(chunk)+128), maxRows), 1)
	return chunk, sc.More(), nil
}

// missing handles a record that does not exist: the session was deleted meanwhile, or it is
// damaged.
func (sc *scan) missing(ctx context.Context) (chunk []rows.ReadResult, more bool, err error) {
	var top int64
	err = sc.store.withConn(ctx, "read", sc.id, func(t *tx) error {
		var deleted bool
		found, err := t.row([]any{&deleted, &top}, selectTop, sc.num)
		if err == nil && (!found || deleted && sc.NextSeq() > top) {
			return rows.NotFound("read", sc.id)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return []rows.ReadResult{sc.MarkLost(sc.id, top)}, sc.More(), nil
}

// fetch reads a chunk up to its maximum size in bytes.
func (sc *scan) fetch(t *tx, limit int) (chunk []rows.ReadResult, bytes int, err error) {
	query := recordsUp
	if sc.Reverse {
		query = recordsDown
	}
	found, err := t.c.QueryContext(t.ctx, query, sc.num, sc.Low, sc.High, int64(limit))
	if err != nil {
		return nil, 0, err
	}
	defer found.Close()
	chunk = make([]rows.ReadResult, 0, limit)
	for bytes < chunkBytes && found.Next() {
		var seq, ms int64
		var id, kind, chain, payload []byte
		if err := found.Scan(&seq, &id, &ms, &kind, &chain, &payload); err != nil {
			return nil, 0, err
		}
		r, err := rows.Record(sc.id, seq, string(id), ms, string(kind), chain, payload)
		chunk = append(chunk, rows.ReadResult{Record: r, Err: err})
		bytes += len(payload)
	}
	return chunk, bytes, found.Err()
}
