package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A session whose row is missing but whose records exist is damaged, in lists, when it is
// loaded and when it is restored; repair recreates its row.
func TestMissingRow(t *testing.T) {
	for _, tt := range []struct {
		name, sql string
		ids       []string // that are listed then
		lost      string
	}{
		{"the first", "DELETE FROM sessions WHERE id = 'A'", []string{"A", "B", "C"}, "A"},
		{"in the middle", "DELETE FROM sessions WHERE id = 'B'", []string{"A", "B", "C"}, "B"},
		{"the last", "DELETE FROM sessions WHERE id = 'C'", []string{"A", "B", "C"}, "C"},
		{"two in a row", "DELETE FROM sessions WHERE id <> 'A'", []string{"A", "B", "C"}, "B"},
		{"all", "DELETE FROM sessions", []string{"A", "B", "C"}, "C"},
		{"and its first record", "DELETE FROM records WHERE key = (SELECT num << 32 | 1 FROM sessions WHERE id = 'B'); DELETE FROM sessions WHERE id = 'B'", []string{"A", "C", "lost-2"}, "lost-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			st, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := session.New(st, nil)
			for _, id := range []string{"A", "B", "C"} {
				if err := s.Save(t.Context(), id, []transcript.Item{transcript.UserText("of " + id), transcript.UserText("v")}, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := st.write(t.Context(), "damage", "A", func(c *conn) error { return c.script(tt.sql) }); err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			if st, err = Open(path, nil); err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			s = session.New(st, nil)
			p, err := s.List(t.Context(), session.Query{})
			var ids []string
			for _, m := range p.Sessions {
				ids = append(ids, m.ID)
				if m.ID == tt.lost && !m.Lost() {
					t.Errorf("%s is listed as whole", m.ID)
				}
			}
			if slices.Sort(ids); err != nil || !slices.Equal(ids, tt.ids) {
				t.Errorf("list: %v, %v", ids, err)
			}
			if _, err := s.Load(t.Context(), tt.lost, nil); !errors.Is(err, session.ErrCorrupt) {
				t.Errorf("load: %v", err)
			}
			if _, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: tt.lost}); !errors.Is(err, session.ErrCorrupt) {
				t.Errorf("restore: %v", err)
			}
			if err := s.Save(t.Context(), "D", []transcript.Item{transcript.UserText("new")}, nil); err != nil {
				t.Errorf("another session cannot be begun: %v", err)
			}
		})
	}
}

// What is deleted and swept away leaves gaps, which are no loss.
func TestSweptSessionsAreNotLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(st, nil)
	for _, id := range []string{"A", "B", "C", "D"} {
		if err := s.Save(t.Context(), id, []transcript.Item{transcript.UserText("of " + id)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"A", "C", "D"} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	p, err := session.New(st, nil).List(t.Context(), session.Query{})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].ID != "B" {
		t.Errorf("%+v, %v", p.Sessions, err)
	}
}

// A session whose row is lost is whole again when its row is rebuilt from its records, a fork
// of it, too. Records that another session has taken the id of stay damaged.
func TestRebuildLostRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := session.New(st, nil)
	for _, id := range []string{"A", "B", "C"} {
		if err := s.Save(t.Context(), id, []transcript.Item{transcript.UserText("of " + id), transcript.UserText("v")}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rename(t.Context(), "B", "a title"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fork(t.Context(), "B", &session.ForkOptions{ID: "F"}); err != nil {
		t.Fatal(err)
	}
	before := map[string]session.Meta{}
	for _, id := range []string{"B", "F"} {
		if before[id], err = s.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	lost := "DELETE FROM sessions WHERE id IN ('A', 'B', 'F'); UPDATE sessions SET id = 'A' WHERE id = 'C'"
	if err := st.write(t.Context(), "damage", "A", func(c *conn) error { return c.script(lost) }); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s = session.New(st, nil)
	for _, id := range []string{"F", "B"} {
		r, err := s.Verify(t.Context(), id)
		if err != nil || len(r.Faults) > 0 || !r.MetaDiffers {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
		if _, err := s.Rebuild(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if m, err := s.Get(t.Context(), id); err != nil || m != before[id] {
			t.Errorf("%s: %+v, %v, was %+v", id, m, err, before[id])
		}
		if l, err := s.Load(t.Context(), id, nil); err != nil || len(l.Items) != 2 || l.Items[0].Text() != "of B" {
			t.Errorf("%s: %+v, %v", id, l, err)
		}
	}
	if _, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: "B"}); err != nil {
		t.Error(err)
	}
	if _, err := s.Rebuild(t.Context(), "lost-1"); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("the records of A: %v", err)
	}
}
