package sqlite

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
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
		var ahead chan chunk // the next chunk, fetched while this one is yielded
		defer func() {
			if ahead != nil {
				<-ahead
			}
		}()
		var spare []entry // entries of the previous chunk
		first := true     // do not prefetch after the first chunk: many callers need only the first chunk
		for now := sc.next(ctx, nil); ; {
			ahead = nil
			if now.more && !first {
				ahead = make(chan chunk, 1)
				go func(out chan<- chunk, spare []entry) { out <- sc.next(ctx, spare) }(ahead, spare)
			}
			for i := range now.entries {
				if !yield(now.entries[i].Record, now.entries[i].err) {
					return
				}
			}
			if now.err != nil {
				yield(session.Record{}, now.err)
			}
			switch {
			case ahead != nil:
				spare = now.entries
				now = <-ahead
			case now.more && first:
				first = false
				now = sc.next(ctx, nil)
			default:
				return
			}
		}
	}
}

// readers are connections for reading. They are opened on demand; a few are kept.
type readers struct {
	path   string
	busy   time.Duration
	gone   func() error // returns an error if the path now leads to another file
	mu     sync.Mutex
	idle   []*conn
	closed bool
	out    sync.WaitGroup
}

const maxIdle = 2

func (p *readers) init(path string, busy time.Duration, gone func() error) {
	p.path, p.busy, p.gone = path, busy, gone
}

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
	// If the file is empty, SQLite deletes the journal next to it. The journal may have commits of
	// the file that had this path before.
	if err := p.gone(); err != nil {
		p.out.Done()
		return nil, err
	}
	c, err := dial(p.path, p.busy)
	if err == nil {
		if err = c.script("PRAGMA query_only = ON"); err == nil {
			err = p.gone() // otherwise the connection would belong to another store
		}
		if err != nil {
			c.close()
		}
	} else if poison := p.gone(); poison != nil {
		err = poison
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

// close waits for the reads in progress.
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

// read runs f with a read connection and translates its error.
func (s *Store) read(ctx context.Context, op, id string, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.readers.get()
	if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrPoisoned) {
		return s.named(op, id, err)
	}
	if err == nil {
		err = f(c)
		s.readers.put(c)
	}
	return s.translate(op, id, err)
}
