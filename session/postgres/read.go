package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Records are fetched in chunks and yielded between them, so that a slow reader
// blocks no connection. A chunk ends with the record with which it reaches its maximum size.
const (
	chunkRows  = 256
	chunkBytes = 1 << 20
)

// The size of a payload is known without fetching it from the TOAST table.
const (
	chunkUp = `SELECT ` + rows.RecordColumns + ` FROM (
  SELECT ` + rows.RecordColumns + `, sum(octet_length(payload)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (
    SELECT ` + rows.RecordColumns + ` FROM records WHERE num = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4) r) r
WHERE coalesce(before, 0) < $5 ORDER BY seq`
	chunkDown = `SELECT ` + rows.RecordColumns + ` FROM (
  SELECT ` + rows.RecordColumns + `, sum(octet_length(payload)) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (
    SELECT ` + rows.RecordColumns + ` FROM records WHERE num = $1 AND seq > $2 AND seq <= $3 ORDER BY seq DESC LIMIT $4) r) r
WHERE coalesce(before, 0) < $5 ORDER BY seq DESC`
)

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		sc := scan{ReadRange: rows.NewReadRange(r), store: s, id: id}
		if err := sc.start(ctx); err != nil {
			yield(session.Record{}, err)
			return
		}
		var ahead chan chunk // the next chunk, fetched while this one is yielded
		defer func() {
			if ahead != nil {
				<-ahead
			}
		}()
		for now := sc.next(ctx); ; now = <-ahead {
			ahead = nil
			if now.more {
				ahead = make(chan chunk, 1)
				go func(out chan<- chunk) { out <- sc.next(ctx) }(ahead)
			}
			for i := range now.entries {
				if !yield(now.entries[i].Record, now.entries[i].Err) {
					return
				}
			}
			if now.err != nil {
				yield(session.Record{}, now.err)
			}
			if ahead == nil {
				return
			}
		}
	}
}

// scan is one Read in progress.
type scan struct {
	rows.ReadRange
	store *Store
	id    string
	num   int64
}

// chunk is the result of one step of a scan.
type chunk struct {
	entries []rows.ReadResult
	more    bool // there may be another
	err     error
}

// start limits the range to the session's current records.
func (sc *scan) start(ctx context.Context) error {
	return sc.store.do(ctx, "read", sc.id, func(c *pgxpool.Conn, _ bool) error {
		var head, below int64
		err := c.QueryRow(ctx, `SELECT num, head, parent_seq FROM sessions WHERE id = $1`, []byte(sc.id)).Scan(&sc.num, &head, &below)
		if errors.Is(err, pgx.ErrNoRows) {
			return rows.NotFound("read", sc.id)
		}
		if err == nil {
			sc.Within(below, head)
		}
		return err
	})
}

// next fetches the next chunk. If the server cannot read a part of it, the records are fetched one
// by one, and each unreadable one becomes an entry.
func (sc *scan) next(ctx context.Context) chunk {
	if !sc.More() {
		return chunk{}
	}
	entries, err := sc.fetch(ctx, sc.Low, sc.High, min(sc.Remaining, chunkRows))
	if isCorrupt(err) || errors.Is(err, session.ErrCorrupt) {
		entries, err = sc.single(ctx)
	}
	if err != nil {
		return chunk{entries: entries, err: err}
	}
	if entries = sc.Pass(entries); len(entries) == 0 {
		return sc.missing(ctx)
	}
	return chunk{entries: entries, more: sc.More()}
}

// missing handles a record that does not exist: the session was deleted meanwhile, or it is
// damaged.
func (sc *scan) missing(ctx context.Context) chunk {
	var top int64
	err := sc.store.do(ctx, "read", sc.id, func(c *pgxpool.Conn, _ bool) error {
		var deleted bool
		err := c.QueryRow(ctx, `SELECT deleted = 1, (SELECT coalesce(max(seq), 0) FROM records r WHERE r.num = s.num)
FROM sessions s WHERE num = $1`, sc.num).Scan(&deleted, &top)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && deleted && sc.NextSeq() > top {
			return rows.NotFound("read", sc.id)
		}
		return err
	})
	if err != nil {
		return chunk{err: err}
	}
	lost := sc.MarkLost(sc.id, top)
	return chunk{entries: []rows.ReadResult{lost}, more: sc.More()}
}

// single fetches the next record.
func (sc *scan) single(ctx context.Context) ([]rows.ReadResult, error) {
	seq := sc.NextSeq()
	entries, err := sc.fetch(ctx, seq-1, seq, 1)
	switch {
	case err == nil && len(entries) > 0:
		return entries, nil
	case err == nil:
		err = errors.New("the record is missing")
	case !errors.Is(err, session.ErrCorrupt):
		return nil, err
	}
	return []rows.ReadResult{{Record: session.Record{Seq: seq}, Err: rows.Damaged(sc.id, seq, err.Error())}}, nil
}

func (sc *scan) fetch(ctx context.Context, low, high, limit int64) (entries []rows.ReadResult, err error) {
	sql := chunkUp
	if sc.Reverse {
		sql = chunkDown
	}
	err = sc.store.do(ctx, "read", sc.id, func(c *pgxpool.Conn, _ bool) error {
		entries = make([]rows.ReadResult, 0, limit)
		found, err := c.Query(ctx, sql, sc.num, low, high, limit, int64(chunkBytes))
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var seq, ms int64
			var id, chain, payload []byte
			var kind string
			if err := found.Scan(&seq, &id, &ms, &kind, &chain, &payload); err != nil {
				return err
			}
			r, bad := rows.Record(sc.id, seq, string(id), ms, kind, chain, payload)
			entries = append(entries, rows.ReadResult{Record: r, Err: bad})
		}
		return found.Err()
	})
	return entries, err
}
