package redacting

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Refuse rejects a batch with a secret instead of masking it: the error is ErrInvalid and has
	// the record's seq.
	Refuse bool
}

// Store masks what it writes to another store. It is safe for concurrent use.
type Store struct {
	inner session.Store
	mask  func(payload json.RawMessage) json.RawMessage
	opt   Options

	life context.Context // ends with Close
	end  context.CancelFunc
	once sync.Once // Close runs once
}

// New returns a store that writes masked records to inner. Existing records stay unchanged.
// Closing the store closes inner.
//
// The function mask returns a payload with its secrets masked, or the same bytes if it finds none.
// Masking twice must change nothing. It is called concurrently. Package audit/secret has one.
func New(inner session.Store, mask func(payload json.RawMessage) json.RawMessage, o *Options) (*Store, error) {
	if inner == nil || mask == nil {
		return nil, &session.Error{Op: "open redacting store", Err: session.ErrInvalid, Detail: "a store and a mask are required"}
	}
	s := &Store{inner: inner, mask: mask}
	s.life, s.end = context.WithCancel(context.Background())
	if o != nil {
		s.opt = *o
	}
	return s, nil
}

var (
	_ session.Store     = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
	_ session.Searcher  = (*Store)(nil)
)

// Unwrap returns the inner store.
func (s *Store) Unwrap() session.Store { return s.inner }

// Masks reports that the store accepts masked records. [session.Sessions.Replicate] looks for this
// method.
func (s *Store) Masks() bool { return true }

// Close closes the inner store. A second call does nothing.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		s.end()
		if c, ok := s.inner.(io.Closer); ok {
			err = c.Close()
		}
	})
	return err
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if s.life.Err() != nil {
		return closed("append", id)
	}
	var masked []session.Record // becomes a copy if there is something to mask
	for i := range b.Records {
		r, changed, err := s.record(id, b.Records[i])
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if masked == nil {
			masked = append(masked, b.Records...)
		}
		masked[i] = r
	}
	if masked != nil {
		delta, err := session.Fold(masked)
		if err != nil {
			return &session.Error{Op: "append", Session: id, Err: session.ErrInvalid, Detail: err.Error()}
		}
		b.Records, b.Delta = masked, delta
	}
	return s.inner.Append(ctx, id, b)
}

// record returns the record for the inner store.
func (s *Store) record(id string, r session.Record) (session.Record, bool, error) {
	invalid := func(detail, hint string) (session.Record, bool, error) {
		return r, false, &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrInvalid, Detail: detail, Hint: hint}
	}
	if r.Payload == nil {
		return r, false, nil
	}
	if record.IsSealed(r.Payload) {
		return invalid("the payload is encrypted, so it cannot be searched for secrets", "open the source store with its key")
	}
	instead, found := r.Mask(s.mask)
	if found && s.opt.Refuse {
		return invalid("the payload contains a secret", "mask it, or use a store that accepts secrets")
	}
	if !found && !r.Masked {
		return r, false, nil
	}
	r.Payload, r.Masked = record.MaskedPayload(instead), false
	return r, true, nil
}

// Read implements [session.Store]. Masked records are marked as such.
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		if s.life.Err() != nil {
			yield(session.Record{}, closed("read", id))
			return
		}
		for rec, err := range s.inner.Read(ctx, id, r) {
			if instead, ok := record.ReadMasked(rec.Payload); ok && err == nil {
				rec.Payload, rec.Masked = instead, true
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if s.life.Err() != nil {
		return session.Page{}, closed("list", q.ID)
	}
	return s.inner.List(ctx, q)
}

func closed(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrClosed}
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return logwatch.WatchUntil(ctx, s.life, s.inner, id, after)
}

// PutMeta implements [session.Rebuilder]: the texts of m are masked.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	b, ok := session.As[session.Rebuilder](s.inner)
	if !ok {
		return &session.Error{Op: "put meta", Session: m.ID, Err: session.ErrUnsupported}
	}
	m.MaskTexts(s.mask)
	return b.PutMeta(ctx, m)
}

// Index implements [session.Searcher] by returning ErrUnsupported: the inner store's index cannot
// read masked records.
func (s *Store) Index(context.Context) error { return noSearch() }

// Search implements [session.Searcher] by returning ErrUnsupported. Package
// internal/session/search indexes what this store reads.
func (s *Store) Search(context.Context, session.Search) (*session.Hits, error) {
	return nil, noSearch()
}

func noSearch() error {
	return &session.Error{
		Op: "search", Err: session.ErrUnsupported, Detail: "a masking store has no search index",
		Hint: "use a separate index (package internal/session/search)",
	}
}
