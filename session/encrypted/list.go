package encrypted

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/session"
)

// unreadable is shown in lists in place of a text that the key cannot decrypt.
const unreadable = "[sealed]"

// List implements [session.Store]. Filters on texts (project, folder, tag) are applied to the
// plain text: sessions are read, newest first, until there are enough matches. The inner store
// applies all other filters.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if s.life.Err() != nil {
		return session.Page{}, closed("list", q.ID)
	}
	if q.ID != "" {
		s.keys.forget(q.ID)
	}
	if q.ID != "" || q.Project == "" && q.CWD == "" && q.Tag == "" {
		p, err := s.inner.List(ctx, q)
		if err != nil {
			return session.Page{}, err
		}
		return p, s.openMetas(ctx, p.Sessions)
	}
	return s.filter(ctx, q)
}

// filterPage is the number of sessions read at once.
const filterPage = 256

func (s *Store) filter(ctx context.Context, q session.Query) (session.Page, error) {
	var out session.Page
	look := q
	look.Project, look.CWD, look.Tag, look.Limit = "", "", "", filterPage
	var (
		last  session.Query // the query that ends with the last session of the page
		count int           // number of sessions that this query returns
	)
	for {
		p, err := s.inner.List(ctx, look)
		if err != nil {
			return session.Page{}, err
		}
		if err := s.openMetas(ctx, p.Sessions); err != nil {
			return session.Page{}, err
		}
		for i := range p.Sessions {
			if !q.Matches(&p.Sessions[i]) {
				continue
			}
			if q.Limit > 0 && len(out.Sessions) == q.Limit { // there is another page
				last.Limit = count
				cut, err := s.inner.List(ctx, last)
				out.Next = cut.Next
				return out, err
			}
			out.Sessions = append(out.Sessions, p.Sessions[i])
			last, count = look, i+1
		}
		if p.Next == "" {
			return out, nil
		}
		look.After = p.Next
	}
}

// openMetas decrypts the texts in the metadata of sessions. A text that cannot be decrypted is
// shown as unreadable, so that it does not hide the others.
func (s *Store) openMetas(ctx context.Context, metas []session.Meta) error {
	for i := range metas {
		if err := s.openMeta(ctx, &metas[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) openMeta(ctx context.Context, m *session.Meta) error {
	m.Size = max(m.Size, 0) // an erase may have subtracted the encrypted size
	var b *sessionSealer
	for i, f := range m.Texts() {
		if *f == "" {
			continue
		}
		key := textKey(*f)
		if b == nil || b.key != key {
			k, err := s.keyNamed(ctx, m.ID, key)
			if err != nil {
				return err
			}
			if k == nil {
				*f = unreadable
				continue
			}
			if b, err = k.sealer(m.ID); err != nil {
				return err
			}
		}
		text, err := b.openText(textFields[i], *f)
		if err != nil {
			text = unreadable
		}
		*f = text
	}
	return nil
}

// keyNamed returns the data key with the given id, from the cache or the session, or nil if it is
// not available.
func (s *Store) keyNamed(ctx context.Context, session, key string) (*dataKey, error) {
	if key == "" {
		return nil, nil
	}
	if k := s.keys.get(key); k != nil {
		return k, nil
	}
	k, err := s.keyOf(ctx, session)
	if isKeyMissing(err) || k == nil || k.id != key {
		return nil, nil
	}
	return k, err
}

// isKeyMissing reports whether an error means that a key is not available, and not that the store
// failed.
func isKeyMissing(err error) bool {
	for _, e := range []error{session.ErrSealed, session.ErrCorrupt, session.ErrNotFound, session.ErrUnsupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
