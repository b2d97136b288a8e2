package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A session without a readable record is damaged, in lists and when it is opened. It is never
// missing, so no new session takes its place.
func TestLostSessionIsDamaged(t *testing.T) {
	garbage := []byte("{not json\nmore\n")
	write := func(t *testing.T, path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, log, meta string){
		"log":                      func(t *testing.T, log, _ string) { write(t, log, garbage) },
		"log without a line":       func(t *testing.T, log, _ string) { write(t, log, garbage[:6]) },
		"log of zeros":             func(t *testing.T, log, _ string) { write(t, log, make([]byte, 300)) },
		"empty log":                func(t *testing.T, log, _ string) { write(t, log, nil) },
		"no log":                   func(t *testing.T, log, _ string) { remove(t, log) },
		"log and meta":             func(t *testing.T, log, meta string) { write(t, log, garbage); write(t, meta, garbage) },
		"empty log and empty meta": func(t *testing.T, log, meta string) { write(t, log, nil); write(t, meta, nil) },
		"log without a meta":       func(t *testing.T, log, meta string) { write(t, log, garbage); remove(t, meta) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := fastDir(t)
			st := openStore(t, dir)
			items := []transcript.Item{transcript.UserText("u"), transcript.UserText("v")}
			if err := session.New(st, nil).Save(t.Context(), "A", items, nil); err != nil {
				t.Fatal(err)
			}
			st.Close()
			log, meta := filepath.Join(dir, "A", logName), filepath.Join(dir, "A", metaName)
			damage(t, log, meta)
			left, _ := os.ReadFile(log)
			s := session.New(openStore(t, dir), nil)
			p, err := s.List(t.Context(), session.Query{})
			if err != nil || len(p.Sessions) != 1 || p.Sessions[0].ID != "A" || !p.Sessions[0].Lost() || p.Sessions[0].UpdatedAt.IsZero() {
				t.Errorf("list: %+v, %v", p.Sessions, err)
			}
			for what, do := range map[string]func() error{
				"load":    func() error { _, err := s.Load(t.Context(), "A", nil); return err },
				"get":     func() error { _, err := s.Get(t.Context(), "A"); return err },
				"find":    func() error { _, err := s.Find(t.Context(), "A"); return err },
				"open":    func() error { _, err := s.Open(t.Context(), "A", nil); return err },
				"restore": func() error { _, err := s.Restore(t.Context(), session.RestoreOptions{SessionID: "A"}); return err },
				"fork":    func() error { _, err := s.Fork(t.Context(), "A", nil); return err },
				"rename":  func() error { return s.Rename(t.Context(), "A", "x") },
				"records": func() error {
					for _, err := range s.Records(t.Context(), "A", session.Range{}) {
						return err
					}
					return nil
				},
			} {
				if err := do(); !errors.Is(err, session.ErrCorrupt) || errors.Is(err, session.ErrNotFound) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Save(t.Context(), "A", items, nil); err == nil {
				t.Error("saved in its place")
			}
			if _, err := s.Create(t.Context(), session.Opened{SessionID: "A"}); !errors.Is(err, session.ErrExists) {
				t.Errorf("created in its place: %v", err)
			}
			if r, err := s.Verify(t.Context(), "A"); err != nil || len(r.Faults) == 0 {
				t.Errorf("verify: %+v, %v", r, err)
			}
			if now, _ := os.ReadFile(log); string(now) != string(left) {
				t.Errorf("what was left of it was changed: %q", now)
			}
			if err := s.Delete(t.Context(), "A"); err != nil {
				t.Errorf("delete: %v", err)
			}
			if p, err := s.List(t.Context(), session.Query{}); err != nil || len(p.Sessions) != 0 {
				t.Errorf("after its deletion: %+v, %v", p.Sessions, err)
			}
		})
	}
}

// A session that another program creates during the lookup is not lost: its log was read too
// early, its summary was not.
func TestSessionCreatedMeanwhileIsNotLost(t *testing.T) {
	dir := fastDir(t)
	st := openStore(t, dir)
	if err := session.New(st, nil).Save(t.Context(), "A", []transcript.Item{transcript.UserText("u")}, nil); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(st.root, "A")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if lost, _, err := st.lost(d); lost || err != nil {
		t.Errorf("lost %v, %v", lost, err)
	}
	if err := os.Truncate(filepath.Join(dir, "A", logName), 0); err != nil {
		t.Fatal(err)
	}
	if lost, _, err := st.lost(d); !lost || err != nil {
		t.Errorf("its log is empty: lost %v, %v", lost, err)
	}
}
