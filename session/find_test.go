package session_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func TestFind(t *testing.T) {
	s := session.New(memory.New(), nil)
	for id, title := range map[string]string{
		"3f2a-first": "fix the parser", "3f2a-second": "twin", "9c01": "twin", "fix the parser": "", "wt-tree": "in a worktree",
	} {
		must(s.Create(t.Context(), session.Opened{SessionID: id, Title: title}))(t).Close()
	}
	for _, c := range []struct{ name, id, detail, hint string }{
		{"9c01", "9c01", "", ""},
		{"fix the parser", "fix the parser", "", ""}, // an id wins over a title
		{"in a worktree", "wt-tree", "", ""},
		{"9", "9c01", "", ""},
		{"3f2a-f", "3f2a-first", "", ""},
		{"3f2a", "", "2 session ids start or end with this", "3f2a-"},
		{"twin", "", "2 sessions have this title", "twin"},
		{"9c10", "", "no such session", "nearest: 9c01"},
		{"", "", "the name is empty", ""},
		{"../x", "", "no such session", ""},
		{"zzzzzzzzzzzzzzzzzzzzzzzz", "", "no such session", "holdfast sessions list"},
	} {
		m, err := s.Find(t.Context(), c.name)
		if c.id != "" {
			if err != nil || m.ID != c.id {
				t.Errorf("%q found %q, %v; want %q", c.name, m.ID, err, c.id)
			}
			continue
		}
		wantErr(t, err, session.ErrNotFound)
		if !strings.Contains(err.Error(), c.detail) || !strings.Contains(session.Hint(err), c.hint) || session.Hint(err) == "" {
			t.Errorf("%q: %q, hint %q", c.name, err, session.Hint(err))
		}
	}
}

func TestRenameTagPatch(t *testing.T) {
	s := session.New(memory.New(), nil)
	newSession(t, s, "s", "a") // stays open: none of this needs the lease
	if err := s.Patch(t.Context(), "s", session.MetaPatch{Summary: new("sum"), By: "me"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { return s.Rename(t.Context(), "s", "title") },
		func() error { return s.Tag(t.Context(), "s", "tag") },
		func() error { return s.Relocate(t.Context(), "s", "/new", "project") },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	m := must(s.Get(t.Context(), "s"))(t)
	if m.Title != "title" || m.Tag != "tag" || m.Summary != "sum" || m.CWD != "/new" || m.Project != "project" {
		t.Fatalf("%+v", m)
	}
	if err := s.Rename(t.Context(), "s", "title"); err != nil {
		t.Fatal(err)
	}
	if again := must(s.Get(t.Context(), "s"))(t); again.Head != m.Head {
		t.Error("a rename to the same title wrote a record")
	}
	if err := s.Tag(t.Context(), "s", ""); err != nil || must(s.Get(t.Context(), "s"))(t).Tag != "" {
		t.Error("an empty tag does not clear it")
	}
	if err := s.Rename(t.Context(), "none", "x"); err != nil {
		t.Error(err)
	}
	if err := s.Tag(t.Context(), "none", "x"); err != nil {
		t.Error(err)
	}
	wantErr(t, s.Rename(t.Context(), "../x", "x"), session.ErrInvalidID)
	wantErr(t, s.Patch(t.Context(), "none", session.MetaPatch{Tag: new("x")}), session.ErrNotFound)
	wantErr(t, s.Relocate(t.Context(), "none", "/", ""), session.ErrNotFound)
	wantErr(t, s.Delete(t.Context(), "none"), session.ErrNotFound)
}
