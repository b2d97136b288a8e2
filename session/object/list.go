package object

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// List implements [session.Store]. A list of one session is one request. Any other list reads the
// names of all roots and slots, 1,000 per request, and the newest slot of each session that
// changed since this client's last list.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := ctx.Err(); err != nil {
		return session.Page{}, err
	}
	if _, _, err := q.Place(); err != nil {
		return session.Page{}, err
	}
	if q.ID == "" {
		return s.listAll(ctx, q)
	}
	var all []session.Meta
	err := s.withHandle(ctx, "list", q.ID, func(h *handle) error {
		if err := h.sync(ctx); err != nil {
			return err
		}
		if h.st.Meta != nil {
			all = append(all, *h.st.Meta)
		}
		return nil
	})
	if err != nil {
		return session.Page{}, err
	}
	return q.Select(all)
}

func (s *Store) listAll(ctx context.Context, q session.Query) (session.Page, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return session.Page{}, s.explain(ctx, "list", "", session.ErrClosed)
	}
	o, err := s.listRoots(ctx)
	if err != nil {
		return session.Page{}, s.explain(ctx, "list", "", err)
	}
	all := make([]session.Meta, 0, len(o.sessions))
	for _, k := range o.sessions {
		if k.state.Meta != nil {
			all = append(all, *k.state.Meta)
		}
	}
	return q.Select(all)
}

// metaCache caches the sessions of earlier lists by the root's key.
type metaCache struct {
	mu    sync.Mutex
	known map[string]knownSession
}

// knownSession is the cached data about one session.
type knownSession struct {
	listed // its root
	root   *root
	state  state // state after slot state.Slot
}

// storeListing is a listing of the whole store.
type storeListing struct {
	sessions []knownSession
	slots    []listed
}

// listRoots lists all sessions.
func (s *Store) listRoots(ctx context.Context) (*storeListing, error) {
	var o storeListing
	for l, err := range s.bucket.list(ctx, rootsPrefix, "") {
		if err != nil {
			return nil, err
		}
		o.sessions = append(o.sessions, knownSession{listed: l})
	}
	last := map[string]int64{}
	for l, err := range s.bucket.list(ctx, logsPrefix, "") {
		if err != nil {
			return nil, err
		}
		if log, slot, ok := parseSlot(l.key); ok {
			last[log] = max(last[log], slot)
			o.slots = append(o.slots, l)
		}
	}
	at := make([]int, len(o.sessions))
	for i := range at {
		at[i] = i
	}
	err := inParallel(ctx, at, func(ctx context.Context, i int) error { return s.updateKnown(ctx, &o.sessions[i], last) })
	if err != nil {
		return nil, err
	}
	s.metas.mu.Lock()
	defer s.metas.mu.Unlock()
	s.metas.known = make(map[string]knownSession, len(o.sessions))
	for _, k := range o.sessions {
		s.metas.known[k.key] = k
	}
	return &o, nil
}

// updateKnown updates k from a listing of the session's root and the last slots of all logs.
func (s *Store) updateKnown(ctx context.Context, k *knownSession, last map[string]int64) error {
	s.metas.mu.Lock()
	before, ok := s.metas.known[k.key]
	s.metas.mu.Unlock()
	if ok && before.etag == k.etag && before.root != nil {
		k.root, k.state = before.root, before.state
	}
	for range movedTries {
		if k.root == nil {
			r, _, err := s.loadRoot(ctx, k.key)
			if err != nil {
				return err
			}
			if r == nil {
				return nil
			}
			k.root, k.state = r, r.State
		}
		slot := last[k.root.Log]
		if k.root.Vacant || slot <= k.state.Slot {
			return nil
		}
		e, _, err := s.head(ctx, k.root.Log, slot)
		switch {
		case errors.Is(err, errDamaged): // list the cached data; reading the session returns the error
			return nil
		case err != nil && !errors.Is(err, errMissing):
			return err
		case err == nil && e.State != nil:
			k.state = *e.State
			return nil
		}
		k.root = nil // folded since the listing
	}
	return errMoved
}
