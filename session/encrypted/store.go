package encrypted

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// NewKey creates a new data key for later sessions. Existing sessions keep their data keys, and
	// the key decrypts both the old and the new ones. A data key is also created if this key has
	// not yet made one for its recipients.
	NewKey bool
	// Search creates a search index for the texts that the store reads. Without it, [Store.Index]
	// and [Store.Search] return ErrUnsupported. An index contains plain text: keep it where only
	// holders of the key can read it. The index is closed together with the store if it is an
	// io.Closer.
	Search func(session.Store) (session.Searcher, error)
}

// Store encrypts what it writes to another store and decrypts what it reads. It is safe for
// concurrent use.
type Store struct {
	inner  session.Store
	keys   *keyCache
	search session.Searcher
	life   context.Context // ends with Close
	end    context.CancelFunc
	once   sync.Once // Close runs once
}

// New returns a store that encrypts everything it stores in inner. It reads the newest session in
// inner, and returns ErrSealed if the key cannot decrypt it and ErrUnsupported if it is not
// encrypted. Closing the store closes inner.
func New(ctx context.Context, inner session.Store, key *Key, o *Options) (*Store, error) {
	if key == nil {
		return nil, &session.Error{Op: "open encrypted store", Err: session.ErrInvalid, Detail: "there is no key", Hint: "use an age identity, a passphrase or a keychain entry"}
	}
	var opt Options
	if o != nil {
		opt = *o
	}
	s := &Store{inner: inner, keys: newKeyCache(key)}
	s.life, s.end = context.WithCancel(context.Background())
	k, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}
	if k == nil || opt.NewKey {
		k = newDataKey()
	}
	if err := s.keys.use(k); err != nil {
		return nil, err
	}
	if opt.Search != nil {
		if s.search, err = opt.Search(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// maxSearched is the number of sessions after which the search for a data key made by this key
// ends.
const maxSearched = 64

// newest returns the newest data key made by this key, or nil if the newest sessions have none. The
// error is the error for the newest session that is not damaged.
func (s *Store) newest(ctx context.Context) (*dataKey, error) {
	q := session.Query{Worktrees: true, WithTrash: true, Limit: 16}
	var broken error
	read := false
	for seen := 0; ; {
		p, err := s.inner.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, m := range p.Sessions {
			seen++
			k, err := s.keyOf(ctx, m.ID)
			switch {
			case errors.Is(err, session.ErrNotFound): // deleted in the meantime
			case errors.Is(err, session.ErrCorrupt):
				broken = err
			case read && isKeyMissing(err): // another key's data key
			case err != nil:
				return nil, err
			case k != nil && s.keys.key.made(k):
				return k, nil
			case k != nil:
				read = true
			}
		}
		switch {
		case read && (p.Next == "" || seen >= maxSearched):
			return nil, nil
		case p.Next == "":
			return nil, broken
		}
		q.After = p.Next
	}
}

// Unwrap returns the store with the encrypted records. Through it [session.As] finds the optional
// interfaces that do not need the plain text.
func (s *Store) Unwrap() session.Store { return s.inner }

// Close closes the index, if there is one, and the inner store. A second call does nothing.
func (s *Store) Close() error {
	var errs []error
	s.once.Do(func() {
		s.end()
		if c, ok := s.search.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
		if c, ok := s.inner.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	})
	return errors.Join(errs...)
}

var (
	_ session.Store     = (*Store)(nil)
	_ session.Eraser    = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
	_ session.Searcher  = (*Store)(nil)
)

func closed(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrClosed}
}

func unsupported(op, id, detail string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrUnsupported, Detail: detail}
}

// Erase implements [session.Eraser]. The first record cannot be erased, because it contains the
// session's data key.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	e, ok := session.As[session.Eraser](s.inner)
	if !ok {
		return unsupported("erase", id, "the store cannot erase")
	}
	for rec, err := range s.inner.Read(ctx, id, session.Range{Limit: 1}) {
		if err != nil {
			return err
		}
		for _, seq := range seqs {
			if seq == rec.Seq {
				return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the first record contains the session's data key", Hint: "delete the session"}
			}
		}
	}
	return e.Erase(ctx, id, epoch, seqs)
}

// PutMeta implements [session.Rebuilder].
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	b, ok := session.As[session.Rebuilder](s.inner)
	if !ok {
		return unsupported("put meta", m.ID, "the store cannot replace session metadata")
	}
	k, err := s.keyOf(ctx, m.ID)
	if err != nil {
		return err
	}
	if k == nil {
		return damaged(m.ID, m.Head, "the session has no first record")
	}
	box, err := k.sealer(m.ID)
	if err != nil {
		return err
	}
	for i, f := range m.Texts() {
		*f = box.sealText(textFields[i], *f)
	}
	return b.PutMeta(ctx, m)
}

// Watch implements [session.Watcher].
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return logwatch.WatchUntil(ctx, s.life, s.inner, id, after)
}

// Index implements [session.Searcher] with [Options.Search].
func (s *Store) Index(ctx context.Context) error {
	if s.search == nil {
		return s.noSearch()
	}
	return s.search.Index(ctx)
}

// Search implements [session.Searcher] with [Options.Search].
func (s *Store) Search(ctx context.Context, q session.Search) (*session.Hits, error) {
	if s.search == nil {
		return nil, s.noSearch()
	}
	return s.search.Search(ctx, q)
}

func (s *Store) noSearch() error {
	return &session.Error{
		Op: "search", Err: session.ErrUnsupported, Detail: "the store is encrypted, and an index would contain its texts unencrypted",
		Hint: "allow an index on this machine",
	}
}
