package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Matches reports whether a list for q shows m. Where the page begins does not count.
// With q.ID it is that session, and nothing else counts.
func (q *Query) Matches(m *Meta) bool {
	if q.ID != "" {
		return m.ID == q.ID
	}
	return !m.Deleted &&
		(q.Project == "" || m.Project == q.Project) &&
		(q.CWD == "" || m.CWD == q.CWD) &&
		(q.Tag == "" || m.Tag == q.Tag) &&
		(q.Parent == "" || m.Parent == q.Parent) &&
		(!q.WithApprovals || m.OpenApprovals > 0) &&
		(q.Run == "" || m.Runs(q.Run)) &&
		(q.Owner == "" || m.Owner == q.Owner) &&
		(!q.Unowned || m.Owner == "") &&
		(q.WithTrash || q.OnlyTrash == (m.Trashed != "")) &&
		(q.Worktrees || !isHiddenID(m.ID))
}

// isHiddenID reports whether an id is that of a session of a worktree, which a list shows only
// when it is asked to. Case does not matter: some file systems do not tell it.
func isHiddenID(id string) bool { return len(id) >= 3 && strings.EqualFold(id[:3], "wt-") }

// listPlace is the place of a session in the order of a list. Its text form is a cursor,
// for stores that have no better one.
type listPlace struct {
	Updated int64  `json:"u"` // nanoseconds since 1970
	Created int64  `json:"c"` // nanoseconds since 1970
	ID      string `json:"i"`
}

// placeOfMeta is the place of m.
func placeOfMeta(m *Meta) listPlace {
	return listPlace{m.UpdatedAt.UnixNano(), m.CreatedAt.UnixNano(), m.ID}
}

// compare orders sessions for a list: updated last first, then created last, then by
// id downwards.
func (p listPlace) compare(o listPlace) int {
	return cmp.Or(cmp.Compare(o.Updated, p.Updated), cmp.Compare(o.Created, p.Created), strings.Compare(o.ID, p.ID))
}

// String is the cursor.
func (p listPlace) String() string {
	b, _ := json.Marshal(p) // numbers and a string cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// Place is the session after which the page begins: its ID, CreatedAt and UpdatedAt. At the
// first page there is none: found is false. ErrInvalid when q.After is no place.
func (q *Query) Place() (m Meta, found bool, err error) {
	p, found, err := q.place()
	if !found {
		return m, false, err
	}
	return Meta{ID: p.ID, CreatedAt: time.Unix(0, p.Created), UpdatedAt: time.Unix(0, p.Updated)}, true, nil
}

func (q *Query) place() (p listPlace, found bool, err error) {
	if q.After == "" {
		return p, false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(q.After)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, false, &Error{
			Op: "list", Err: ErrInvalid, Detail: "the cursor is not one of this store",
			Hint: "start again without a cursor",
		}
	}
	return p, true, nil
}

// Select makes the page that q asks for out of any sessions. It is for stores that look
// at all of them; their cursors are places.
func (q *Query) Select(all []Meta) (Page, error) {
	after, begun, err := q.place()
	if err != nil {
		return Page{}, err
	}
	var p Page
	for i := range all {
		if m := &all[i]; q.Matches(m) && (!begun || placeOfMeta(m).compare(after) > 0) {
			p.Sessions = append(p.Sessions, *m)
		}
	}
	slices.SortFunc(p.Sessions, func(a, b Meta) int { return placeOfMeta(&a).compare(placeOfMeta(&b)) })
	if q.Limit > 0 && len(p.Sessions) > q.Limit {
		p.Sessions = slices.Clone(p.Sessions[:q.Limit])
		p.Next = placeOfMeta(&p.Sessions[q.Limit-1]).String()
	}
	return p, nil
}
