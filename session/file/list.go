package file

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// List implements [session.Store]. It checks the stamp of every log and reads only what is new
// since the last List.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	var p session.Page
	if err := s.ready(ctx, "list", ""); err != nil {
		return p, err
	}
	if _, _, err := q.Place(); err != nil {
		return p, err
	}
	if q.ID != "" {
		return s.one(q.ID)
	}
	names, _, err := s.readNames()
	if err != nil {
		return p, explain("list", "", err)
	}
	var all []session.Meta
	for _, id := range names {
		if err := ctx.Err(); err != nil {
			return session.Page{}, err
		}
		if strings.HasPrefix(id, deletedPrefix) {
			continue
		}
		m, ok, err := s.meta(id)
		if _, foreign := errors.AsType[*foreignError](err); foreign {
			continue // not a session
		}
		if err != nil {
			return session.Page{}, explain("list", id, err)
		}
		if ok {
			all = append(all, m)
		}
	}
	return q.Select(all)
}

// one looks up a session by its id, including deleted ones.
func (s *Store) one(id string) (session.Page, error) {
	if err := session.CheckID(id); err != nil {
		return session.Page{}, err
	}
	for _, dir := range []string{id, deletedPrefix + id} {
		m, err := s.summaryOf(id, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return session.Page{}, explain("list", id, err)
		}
		if m.exists() {
			return session.Page{Sessions: []session.Meta{m.Meta}}, nil
		}
	}
	return session.Page{}, nil
}

// PutMeta implements [session.Rebuilder]: it replaces the cached meta by m. It returns ErrConflict
// if m does not belong to the log's current head.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	h, err := s.use("put meta", m.ID)
	if err != nil {
		return err
	}
	defer s.release(h)
	if err := h.enter(ctx, false); err != nil {
		return explain("put meta", m.ID, err)
	}
	defer h.leave()
	if err := h.load(false); err != nil {
		return explain("put meta", m.ID, err)
	}
	if h.summary.End == 0 {
		return &session.Error{Op: "put meta", Session: m.ID, Err: session.ErrNotFound}
	}
	if m.Head != h.summary.Meta.Head || m.HeadDigest != h.summary.Meta.HeadDigest {
		return &session.Error{Op: "put meta", Session: m.ID, Seq: h.summary.Meta.Head, Err: session.ErrConflict}
	}
	st, _, err := statFile(h.log)
	if err != nil {
		return explain("put meta", m.ID, err)
	}
	next := h.summary
	next.Meta, next.Stamp = m, st
	if err := s.disk.replace(h.dir, metaName, next.encode(), true); err != nil {
		return explain("put meta", m.ID, err)
	}
	h.summary, h.saved = next, next.End
	s.forget(m.ID)
	return nil
}

// forget drops the cached list entry of a directory.
func (s *Store) forget(dir string) {
	s.summariesMu.Lock()
	defer s.summariesMu.Unlock()
	delete(s.summaries, dir)
}
