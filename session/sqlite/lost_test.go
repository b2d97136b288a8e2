package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Records that the store has lost are never taken for a shorter session.
func TestLostRecords(t *testing.T) {
	for _, tt := range []struct {
		name, sql string
		load      error  // of Load
		notice    string // or a notice of it
	}{
		{"all", "DELETE FROM records", session.ErrCorrupt, ""},
		{"the last", "DELETE FROM records WHERE key = (SELECT max(key) FROM records)", nil, "record 3 of session A is missing"},
		{"the first", "DELETE FROM records WHERE key = (SELECT min(key) FROM records)", nil, "record 1 of session A is missing"},
		{"in the middle", "DELETE FROM records WHERE key NOT IN (SELECT max(key) FROM records UNION SELECT min(key) FROM records)", nil, "record 2 of session A is missing"},
		{"the head", "UPDATE sessions SET head = 0", session.ErrCorrupt, ""},
		{"the head's digest", "UPDATE sessions SET head_digest = x'00'", nil, ""},
		{"a head before the first", "UPDATE sessions SET head = -1", session.ErrCorrupt, ""},
		{"a head behind the last", "UPDATE sessions SET head = 99", nil, "records 4 to 99 of session A are missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, err := Open(filepath.Join(t.TempDir(), "s.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			s := session.New(st, nil)
			if err := s.Save(t.Context(), "A", []transcript.Item{transcript.UserText("u"), transcript.UserText("v")}, nil); err != nil {
				t.Fatal(err)
			}
			if err := st.write(t.Context(), "damage", "A", func(c *conn) error { _, err := c.exec(tt.sql); return err }); err != nil {
				t.Fatal(err)
			}
			p, err := s.List(t.Context(), session.Query{})
			if err != nil || len(p.Sessions) != 1 {
				t.Errorf("list: %+v, %v", p.Sessions, err)
			}
			l, err := s.Load(t.Context(), "A", nil)
			if !errors.Is(err, tt.load) {
				t.Errorf("load: %v, want %v", err, tt.load)
			}
			if tt.notice != "" && (l == nil || !strings.Contains(strings.Join(l.Notices, "\n"), tt.notice)) {
				t.Errorf("load: %+v does not say %q", l, tt.notice)
			}
			if _, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: "A"}); !errors.Is(err, session.ErrCorrupt) {
				t.Errorf("restore: %v", err)
			}
		})
	}
}
