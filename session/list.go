package session

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Matches reports whether a list for q includes m, regardless of the page. If q.ID is set, no
// other field is checked.
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

// isHiddenID reports whether an id is that of a worktree's session, which lists show only on
// request. Case is ignored, because some file systems ignore it.
func isHiddenID(id string) bool { return len(id) >= 3 && strings.EqualFold(id[:3], "wt-") }

// listPosition is the position of a session in a list. Its text form is a cursor for stores without
// a better one.
type listPosition struct {
	Updated int64  `json:"u"` // nanoseconds since 1970
	Created int64  `json:"c"` // nanoseconds since 1970
	ID      string `json:"i"`
}

// listPositionOf returns the position of m.
func listPositionOf(m *Meta) listPosition {
	return listPosition{m.UpdatedAt.UnixNano(), m.CreatedAt.UnixNano(), m.ID}
}

// compare orders sessions for a list: by updated, then created, then id, all descending.
func (p listPosition) compare(o listPosition) int {
	return cmp.Or(cmp.Compare(o.Updated, p.Updated), cmp.Compare(o.Created, p.Created), strings.Compare(o.ID, p.ID))
}

// String returns the cursor.
func (p listPosition) String() string {
	b, _ := json.Marshal(p) // numbers and a string cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// Place returns the session before the first one of the page: its ID, CreatedAt and UpdatedAt.
// found is false for the first page. Place returns ErrInvalid if q.After is not a cursor.
func (q *Query) Place() (m Meta, found bool, err error) {
	p, found, err := q.place()
	if !found {
		return m, false, err
	}
	return Meta{ID: p.ID, CreatedAt: time.Unix(0, p.Created), UpdatedAt: time.Unix(0, p.Updated)}, true, nil
}

func (q *Query) place() (p listPosition, found bool, err error) {
	if q.After == "" {
		return p, false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(q.After)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, false, &Error{
			Op: "list", Err: ErrInvalid, Detail: "the cursor is not from this store",
			Hint: "start again without a cursor",
		}
	}
	return p, true, nil
}

// Select returns the page of q from a list of sessions in any order. It is for stores that read all
// sessions; their cursors are positions.
func (q *Query) Select(all []Meta) (Page, error) {
	after, begun, err := q.place()
	if err != nil {
		return Page{}, err
	}
	var p Page
	for i := range all {
		if m := &all[i]; q.Matches(m) && (!begun || listPositionOf(m).compare(after) > 0) {
			p.Sessions = append(p.Sessions, *m)
		}
	}
	slices.SortFunc(p.Sessions, func(a, b Meta) int { return listPositionOf(&a).compare(listPositionOf(&b)) })
	if q.Limit > 0 && len(p.Sessions) > q.Limit {
		p.Sessions = slices.Clone(p.Sessions[:q.Limit])
		p.Next = listPositionOf(&p.Sessions[q.Limit-1]).String()
	}
	return p, nil
}
