package file

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// place is the place of a session in the order of the list.
type place struct {
	Updated, Created int64 // nanoseconds
	ID               string
}

func placeOf(m *session.Meta) place {
	return place{m.UpdatedAt.UnixNano(), m.CreatedAt.UnixNano(), m.ID}
}

// compare orders sessions for a list: updated last first, then created last,
// then by id downwards.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.Updated, p.Updated), cmp.Compare(q.Created, p.Created), strings.Compare(q.ID, p.ID))
}

// List implements [session.Store]. It looks at the stamp of every log and reads
// only what is new since it looked last.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	var p session.Page
	if err := s.ready(ctx, "list", ""); err != nil {
		return p, err
	}
	var after *place
	if q.After != "" {
		raw, err := base64.RawURLEncoding.DecodeString(q.After)
		if err == nil {
			err = json.Unmarshal(raw, &after)
		}
		if err != nil {
			return p, &session.Error{Op: "list", Err: session.ErrInvalid, Detail: "the cursor is not one of this store"}
		}
	}
	if q.ID != "" {
		return s.one(q.ID)
	}
	names, _, err := s.readNames()
	if err != nil {
		return p, explain("list", "", err)
	}
	for _, id := range names {
		if err := ctx.Err(); err != nil {
			return session.Page{}, err
		}
		if strings.HasPrefix(id, deletedPrefix) || !q.Worktrees && strings.HasPrefix(id, "wt-") {
			continue
		}
		m, ok, err := s.look(id)
		if _, foreign := errors.AsType[*foreignError](err); foreign {
			continue // whatever it is, it is no session
		}
		if err != nil {
			return session.Page{}, explain("list", id, err)
		}
		if ok && wanted(&m, q) && (after == nil || placeOf(&m).compare(*after) > 0) {
			p.Sessions = append(p.Sessions, m)
		}
	}
	slices.SortFunc(p.Sessions, func(a, b session.Meta) int { return placeOf(&a).compare(placeOf(&b)) })
	if q.Limit > 0 && len(p.Sessions) > q.Limit {
		p.Sessions = slices.Clone(p.Sessions[:q.Limit])
		raw, _ := json.Marshal(placeOf(&p.Sessions[q.Limit-1]))
		p.Next = base64.RawURLEncoding.EncodeToString(raw)
	}
	return p, nil
}

func wanted(m *session.Meta, q session.Query) bool {
	return (q.Project == "" || m.Project == q.Project) &&
		(q.CWD == "" || m.CWD == q.CWD) &&
		(q.Tag == "" || m.Tag == q.Tag) &&
		(q.Parent == "" || m.Parent == q.Parent) &&
		(!q.Asked || m.Questions > 0) &&
		(q.Run == "" || m.Runs(q.Run)) &&
		(q.Owner == "" || m.Owner == q.Owner)
}

// one looks up a session by its id, also a deleted one.
func (s *Store) one(id string) (session.Page, error) {
	if err := session.CheckID(id); err != nil {
		return session.Page{}, err
	}
	for _, dir := range []string{id, deletedPrefix + id} {
		m, err := s.markOf(id, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return session.Page{}, explain("list", id, err)
		}
		if m.End > 0 {
			return session.Page{Sessions: []session.Meta{m.Meta}}, nil
		}
	}
	return session.Page{}, nil
}

// PutMeta implements [session.Rebuilder]: the cached meta becomes m, which must
// be about the log's head as it is now; otherwise ErrConflict.
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
	if h.mark.End == 0 {
		return &session.Error{Op: "put meta", Session: m.ID, Err: session.ErrNotFound}
	}
	if m.Head != h.mark.Meta.Head || m.HeadDigest != h.mark.Meta.HeadDigest {
		return &session.Error{Op: "put meta", Session: m.ID, Seq: h.mark.Meta.Head, Err: session.ErrConflict}
	}
	st, _, err := statFile(h.log)
	if err != nil {
		return explain("put meta", m.ID, err)
	}
	next := h.mark
	next.Meta, next.Stamp = m, st
	if err := s.disk.replace(h.dir, metaName, next.encode(), true); err != nil {
		return explain("put meta", m.ID, err)
	}
	h.mark, h.saved = next, next.End
	s.forget(m.ID)
	return nil
}

// forget drops what listing knows about a directory.
func (s *Store) forget(dir string) {
	s.marksMu.Lock()
	defer s.marksMu.Unlock()
	delete(s.marks, dir)
}
