package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"
	"math"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-dev/holdfast/session"
)

// Records are fetched in chunks, each in a short transaction, and handed out
// between them. So a reader that takes its time holds neither a connection nor
// the journal.
const (
	chunkRows  = 256
	chunkBytes = 1 << 20
)

const (
	recordColumns = `SELECT key, id, time_ms, kind, chain, payload FROM records `
	ownKey        = `(SELECT num << 32 FROM sessions WHERE id = ?)`
	selectUp      = recordColumns + `WHERE key > ` + ownKey + ` + ? AND key <= ` + ownKey + ` + ? ORDER BY key`
	selectDown    = recordColumns + `WHERE key > ` + ownKey + ` + ? AND key <= ` + ownKey + ` + ? ORDER BY key DESC`
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
		if err := sc.start(ctx); err != nil {
			yield(session.Record{}, err)
			return
		}
		var ahead chan chunk // the next one, fetched while this one is handed out
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
				if !yield(now.entries[i].Record, now.entries[i].err) {
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

// scan is one Read under way: what is left of it is the records with a seq
// above low and not above high.
type scan struct {
	store     *Store
	id        string
	low, high int64
	down      bool
	left      int
}

// chunk is what one step of a scan found.
type chunk struct {
	entries []entry
	more    bool // there may be another
	err     error
}

type entry struct {
	session.Record
	err error
}

// start bounds the range by what the session has now.
func (sc *scan) start(ctx context.Context) error {
	return sc.store.read(ctx, "read", sc.id, func(c *conn) error {
		r, err := c.row("SELECT head, parent_seq FROM sessions WHERE id = ?", sc.id)
		if err != nil {
			return err
		}
		if r == nil {
			return notFound("read", sc.id)
		}
		sc.high = min(sc.high, asInt(r[0]))
		sc.low = max(sc.low, asInt(r[1]))
		return nil
	})
}

// next fetches the next chunk. A part of the file that cannot be read becomes
// one entry per record lost in it.
func (sc *scan) next(ctx context.Context) (out chunk) {
	if sc.left <= 0 || sc.low >= sc.high {
		return out
	}
	sql := selectUp
	if sc.down {
		sql = selectDown
	}
	limit, bytes := min(sc.left, chunkRows), 0
	out.entries = make([]entry, 0, min(int64(limit), sc.high-sc.low))
	out.err = sc.store.read(ctx, "read", sc.id, func(c *conn) error {
		err := c.query(sql, func(r []driver.Value) bool {
			e := scanRecord(sc.id, r)
			out.entries = append(out.entries, e)
			sc.pass(e.Seq)
			bytes += len(e.Payload)
			out.more = len(out.entries) == limit || bytes >= chunkBytes
			return !out.more
		}, sc.id, sc.low, sc.id, sc.high)
		if e, ok := fault(err); ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT && sc.low < sc.high {
			seq := sc.low + 1
			if sc.down {
				seq = sc.high
			}
			out.entries = append(out.entries, entry{Record: session.Record{Seq: seq}, err: damaged(sc.id, seq, e.Error())})
			out.more = true
			sc.pass(seq)
			return nil
		}
		return err
	})
	out.more = out.more && sc.left > 0 && sc.low < sc.high
	return out
}

// pass narrows what is left by the record that was just read.
func (sc *scan) pass(seq int64) {
	sc.left--
	if sc.down {
		sc.high = seq - 1
	} else {
		sc.low = seq
	}
}

func scanRecord(id string, r []driver.Value) entry {
	e := entry{Record: session.Record{
		Seq: asInt(r[0]) & maxSeq, ID: asText(r[1]), Time: time.UnixMilli(asInt(r[2])).UTC(),
		Kind: session.Kind(asText(r[3])), Payload: asBlob(r[5]),
	}}
	chain := asBlob(r[4])
	if len(chain) != 96 {
		return entry{Record: session.Record{Seq: e.Seq}, err: damaged(id, e.Seq, "the digests are not 96 bytes")}
	}
	copy(e.Prev[:], chain)
	copy(e.Body[:], chain[32:])
	copy(e.Digest[:], chain[64:])
	return e
}

func damaged(id string, seq int64, detail string) error {
	return &session.Error{Op: "read", Session: id, Seq: seq, Err: session.ErrCorrupt, Detail: detail,
		Hint: "run: holdfast sessions verify " + id}
}

// readers are connections for reading. They are made when needed; a few are kept.
type readers struct {
	path   string
	busy   time.Duration
	mu     sync.Mutex
	idle   []*conn
	closed bool
	out    sync.WaitGroup
}

const maxIdle = 2

func (p *readers) init(path string, busy time.Duration) { p.path, p.busy = path, busy }

func (p *readers) get() (*conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, session.ErrClosed
	}
	p.out.Add(1)
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := dial(p.path, p.busy)
	if err == nil {
		err = c.script("PRAGMA query_only = ON")
	}
	if err != nil {
		p.out.Done()
		return nil, err
	}
	return c, nil
}

func (p *readers) put(c *conn) {
	defer p.out.Done()
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.close()
	}
}

// close waits for the reads under way.
func (p *readers) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
	p.out.Wait()
}

// read lends f a connection for reading and makes its error the contract's.
func (s *Store) read(ctx context.Context, op, id string, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.readers.get()
	if err == session.ErrClosed {
		return &session.Error{Op: op, Session: id, Err: session.ErrClosed, Detail: s.path}
	}
	if err == nil {
		err = f(c)
		s.readers.put(c)
	}
	return s.translate(op, id, err)
}
