package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// What a list shows of the trash, see [Query.Trash].
const (
	TrashOnly = "only"
	TrashToo  = "*"
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
		(!q.Asked || m.Questions > 0) &&
		(q.Run == "" || m.Runs(q.Run)) &&
		(q.Owner == "" || m.Owner == q.Owner) &&
		(!q.Unowned || m.Owner == "") &&
		(q.Trash == TrashToo || (q.Trash == TrashOnly) == (m.Trashed != "")) &&
		(q.Worktrees || !internal(m.ID))
}

// internal reports whether an id is that of a session of a worktree, which a list shows only
// when it is asked to. Case does not matter: some file systems do not tell it.
func internal(id string) bool { return len(id) >= 3 && strings.EqualFold(id[:3], "wt-") }

// Place is the place of a session in the order of a list. Its text form is a cursor,
// for stores that have no better one.
type Place struct {
	Updated int64  `json:"u"` // nanoseconds since 1970
	Created int64  `json:"c"` // nanoseconds since 1970
	ID      string `json:"i"`
}

// placeOfMeta is the place of m.
func placeOfMeta(m *Meta) Place {
	return Place{m.UpdatedAt.UnixNano(), m.CreatedAt.UnixNano(), m.ID}
}

// Compare orders sessions for a list: updated last first, then created last, then by
// id downwards.
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(o.Updated, p.Updated), cmp.Compare(o.Created, p.Created), strings.Compare(o.ID, p.ID))
}

// String is the cursor.
func (p Place) String() string {
	b, _ := json.Marshal(p) // numbers and a string cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// Place is the place after which the page begins. At the first session there is none:
// found is false. ErrInvalid when q.After is no place.
func (q *Query) Place() (p Place, found bool, err error) {
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
	after, begun, err := q.Place()
	if err != nil {
		return Page{}, err
	}
	var p Page
	for i := range all {
		if m := &all[i]; q.Matches(m) && (!begun || placeOfMeta(m).Compare(after) > 0) {
			p.Sessions = append(p.Sessions, *m)
		}
	}
	slices.SortFunc(p.Sessions, func(a, b Meta) int { return placeOfMeta(&a).Compare(placeOfMeta(&b)) })
	if q.Limit > 0 && len(p.Sessions) > q.Limit {
		p.Sessions = slices.Clone(p.Sessions[:q.Limit])
		p.Next = placeOfMeta(&p.Sessions[q.Limit-1]).String()
	}
	return p, nil
}
