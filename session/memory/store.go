package memory

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Store stores sessions in memory. It is safe for concurrent use. Create one with [New].
type Store struct {
	mu       sync.RWMutex
	logs     map[string]*log
	epoch    int64 // the highest epoch of all sessions
	watchers *logwatch.Watchers
}

// log is one session. Its slice of records only grows at the end or is replaced, so that a reader
// can continue to use the slice it has.
type log struct {
	meta    session.Meta
	exists  bool // false if the session has only a lease and no log
	records []session.Record
	lease   *session.Lease // nil if there is no holder
	renewed time.Time      // the time when the lease was stored
	epoch   int64          // epoch of the last holder
}

// New returns an empty store.
func New() *Store {
	s := &Store{logs: map[string]*log{}}
	s.watchers = logwatch.New(s, nil)
	return s
}

func fail(op, id string, seq int64, err error) error {
	return &session.Error{Op: op, Session: id, Seq: seq, Err: err}
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.Records) == 0 {
		return fail("append", id, 0, session.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l != nil && l.exists && l.has(b) {
		return nil
	}
	if b.Epoch != 0 || !free(b) {
		if l == nil || l.epoch != b.Epoch || l.lease == nil {
			return fail("append", id, 0, session.ErrFenced)
		}
	}
	if o := b.Delta.Opened; o != nil {
		if l != nil && l.exists {
			return fail("append", id, 0, session.ErrExists)
		}
		if err := s.checkBase(id, o.Base, b); err != nil {
			return err
		}
		if l == nil {
			l = &log{}
			s.logs[id] = l
		}
		l.exists = true
	} else if l == nil || !l.exists || l.meta.Deleted {
		return fail("append", id, 0, session.ErrNotFound)
	} else if l.meta.Head != b.Expect {
		return fail("append", id, l.meta.Head, session.ErrConflict)
	}
	for _, r := range b.Records {
		r.Payload = slices.Clone(r.Payload)
		l.records = append(l.records, r)
	}
	l.meta = l.meta.Apply(clone(b.Delta))
	s.watchers.Notify(id)
	return nil
}

// free reports whether a batch needs no lease.
func free(b session.Batch) bool {
	if b.Delta.Opened != nil {
		return true
	}
	for i := range b.Records {
		if !b.Records[i].Kind.Shared() {
			return false
		}
	}
	return true
}

// checkBase returns why a fork cannot start at its base.
func (s *Store) checkBase(id string, base *session.Base, b session.Batch) error {
	if base == nil {
		if b.Expect != 0 {
			return fail("append", id, 0, session.ErrConflict)
		}
		return nil
	}
	p := s.logs[base.Parent]
	if p == nil || !p.exists || p.meta.Deleted {
		return fail("fork", base.Parent, 0, session.ErrNotFound)
	}
	if b.Expect != base.Seq || base.Seq > p.meta.Head {
		return fail("fork", base.Parent, p.meta.Head, session.ErrConflict)
	}
	return nil
}

// has reports whether the batch is already stored.
func (l *log) has(b session.Batch) bool {
	at := b.Records[0].Seq - l.first()
	if at < 0 || at+int64(len(b.Records)) > int64(len(l.records)) {
		return false
	}
	for i := range b.Records {
		if l.records[at+int64(i)].Digest != b.Records[i].Digest {
			return false
		}
	}
	return true
}

func (l *log) first() int64 { return l.meta.ParentSeq + 1 }

// clone copies the values that a delta points to.
func clone(d session.Delta) session.Delta {
	if p := d.Patch; p != nil {
		q := *p
		for _, f := range []**string{&q.Title, &q.Summary, &q.Tag, &q.CWD, &q.Project, &q.Model, &q.GitBranch, &q.Trashed} {
			if *f != nil {
				v := **f
				*f = &v
			}
		}
		d.Patch = &q
	}
	if d.Replaced != nil {
		v := *d.Replaced
		d.Replaced = &v
	}
	return d
}

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		s.mu.RLock()
		l := s.logs[id]
		var (
			records []session.Record
			first   int64
		)
		found := l != nil && l.exists
		if found {
			records, first = l.records, l.first()
		}
		s.mu.RUnlock()
		if !found {
			yield(session.Record{}, fail("read", id, 0, session.ErrNotFound))
			return
		}
		from := max(r.After+1-first, 0)
		to := int64(len(records))
		if r.Until != 0 {
			to = min(to, r.Until+1-first)
		}
		if from >= to {
			return
		}
		records = records[from:to]
		for i := range records {
			if err := ctx.Err(); err != nil {
				yield(session.Record{}, err)
				return
			}
			if r.Limit > 0 && i == r.Limit {
				return
			}
			rec := records[i]
			if r.Reverse {
				rec = records[len(records)-1-i]
			}
			rec.Payload = slices.Clone(rec.Payload)
			if !yield(rec, nil) {
				return
			}
		}
	}
}
