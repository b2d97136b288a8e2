package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// plain copies a store as a crash would leave it, opens the copy with SQLite's own VFS, as an
// older program does, and returns what sql finds.
func plain(t *testing.T, path, query string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", copied)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var found string
	if err := db.QueryRowContext(t.Context(), query).Scan(&found); err != nil {
		t.Fatal(err)
	}
	return found
}

// fill appends items of so many bytes in one batch.
func fill(t *testing.T, l *session.Log, s *session.Sessions, items, size int) {
	t.Helper()
	var drafts []session.Draft
	for range items {
		it := transcript.UserText(strings.Repeat("x", size))
		it.ID = s.NewID()
		drafts = append(drafts, session.ItemDraft(it.MustEncode(), false, nil))
	}
	if _, err := l.Append(t.Context(), drafts...); err != nil {
		t.Fatal(err)
	}
}

func TestJournalGrowsAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := session.New(st, nil)
	l, err := s.Create(t.Context(), session.Opened{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	records := 1
	for _, step := range []struct {
		name        string
		items, size int
	}{
		{"an item", 1, 100},
		{"one that needs overflow pages", 1, 50_000},
		{"more than one write takes", 100, 3000},
		{"more than the cache holds, so that pages are written twice", 3000, 3000},
		{"an item behind that", 1, 1500},
	} {
		t.Run(step.name, func(t *testing.T) {
			fill(t, l, s, step.items, step.size)
			records += step.items
			wal, err := os.ReadFile(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			if len(wal) == 0 || len(wal)%walStep != 0 {
				t.Errorf("the journal has %d bytes", len(wal))
			}
			if got := plain(t, path, "SELECT count(*) FROM records"); got != fmt.Sprint(records) {
				t.Errorf("SQLite's own VFS finds %s records of %d", got, records)
			}
			if got := plain(t, path, "PRAGMA integrity_check"); got != "ok" {
				t.Errorf("SQLite's own VFS says: %s", got)
			}
		})
	}
	if got := len(restored(t, s, l.ID())); got != records-1 {
		t.Errorf("%d items of %d", got, records-1)
	}
}

func restored(t *testing.T, s *session.Sessions, id string) []transcript.Encoded {
	t.Helper()
	loaded, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Items
}

// Another connection, or another program, may cut the journal: it grows ahead again.
func TestJournalGrowsAheadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	st, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := session.New(st, nil)
	l, err := s.Create(t.Context(), session.Opened{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 3 {
		fill(t, l, s, 1, 1500)
		if err := st.cutJournal(t.Context(), l.ID()); err != nil {
			t.Fatal(err)
		}
		wal, err := os.ReadFile(path + "-wal")
		if err != nil || !bytes.Equal(wal, make([]byte, walStep)) {
			t.Fatalf("the journal was not emptied: %d bytes, %v", len(wal), err)
		}
		if i == 1 {
			if err := os.Truncate(path+"-wal", 0); err != nil { // as another program does it
				t.Fatal(err)
			}
		}
		fill(t, l, s, 1, 1500)
		wal, err = os.ReadFile(path + "-wal")
		if err != nil || len(wal) != walStep {
			t.Fatalf("the journal has %d bytes, %v", len(wal), err)
		}
		if behind := wal[len(wal)-1000:]; !bytes.Equal(behind, make([]byte, 1000)) {
			t.Error("what is behind the last frame is not zeros")
		}
	}
	if got := plain(t, path, "SELECT count(*) FROM records"); got != "7" {
		t.Errorf("SQLite's own VFS finds %s records", got)
	}
}

// A closed store leaves its journal, full of zeros, for the next store; SQLite itself treats it
// as empty. A long journal is truncated.
func TestJournalStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	records := 0
	work := func(items, size int) {
		t.Helper()
		st, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := session.New(st, nil)
		l, err := s.Create(t.Context(), session.Opened{})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, s, items, size)
		records += 1 + items
		if got := plain(t, path, "SELECT count(*) FROM records"); got != fmt.Sprint(records) {
			t.Errorf("after a kill, SQLite's own VFS finds %s records of %d", got, records)
		}
		l.Close()
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stays := func(size int) {
		t.Helper()
		wal, err := os.ReadFile(path + "-wal")
		if err != nil || !bytes.Equal(wal, make([]byte, size)) {
			t.Errorf("the journal has %d bytes, zeros or not, want %d zeros (%v)", len(wal), size, err)
		}
		if got := plain(t, path, "SELECT count(*) FROM records"); got != fmt.Sprint(records) {
			t.Errorf("SQLite's own VFS finds %s records of %d", got, records)
		}
	}
	work(1, 100)
	stays(walStep)
	work(10, 100)
	stays(walStep)
	work(1, 300_000)
	stays(2 * walChunk)
	work(1, 100)
	stays(2 * walChunk)
	work(1, 2<<20)
	stays(0)
	work(1, 100)
	stays(walStep)

	db, err := sql.Open("sqlite", path) // an older program removes it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE epochs SET last = last + 1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("SQLite's own VFS has left the journal")
	}
	work(1, 100)
	stays(walStep)
}

// The rollback journal of a file in another mode, and temporary files, are SQLite's own.
func TestVFSChangesOnlyTheJournal(t *testing.T) {
	c, err := dial(newFile(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, sql := range []string{
		"PRAGMA journal_mode = DELETE", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)",
		"CREATE TEMP TABLE u AS SELECT x FROM t", "PRAGMA journal_mode = WAL", "INSERT INTO t VALUES (2)", "PRAGMA journal_mode = DELETE",
	} {
		if err := c.script(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if r, err := c.row("SELECT sum(x) FROM t"); err != nil || asInt(r[0]) != 3 {
		t.Errorf("%v, %v", r, err)
	}
}

func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
