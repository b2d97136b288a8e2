package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// refused opens path and checks error, hint and that the file is named.
func refused(t *testing.T, path string, want error) {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), filepath.Base(path)) || session.Hint(err) == "" {
		t.Fatalf("error %q (hint %q), want one that wraps %q and names the file", err, session.Hint(err), want)
	}
}

func TestOpenRejectsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("text", func(t *testing.T) {
		path := write("notes.txt", strings.Repeat("dear diary\n", 200))
		refused(t, path, session.ErrCorrupt)
		if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), "dear diary") {
			t.Error("the file was changed")
		}
	})
	t.Run("short text", func(t *testing.T) { refused(t, write("short.txt", "x"), session.ErrCorrupt) })
	t.Run("another program's", func(t *testing.T) {
		path := write("other.db", "")
		raw(t, path, "CREATE TABLE mine (x); PRAGMA user_version = 1")
		refused(t, path, session.ErrCorrupt)
	})
	t.Run("another application id", func(t *testing.T) {
		path := write("fossil.db", "")
		raw(t, path, "PRAGMA application_id = 252006673; PRAGMA user_version = 1")
		refused(t, path, session.ErrCorrupt)
	})
	t.Run("newer", func(t *testing.T) {
		path := filepath.Join(dir, "newer.db")
		s := open(t, path)
		s.Close()
		raw(t, path, "PRAGMA user_version = 5")
		refused(t, path, session.ErrNewer)
	})
	t.Run("cut off", func(t *testing.T) {
		path := filepath.Join(dir, "cut.db")
		s := open(t, path)
		create(t, s, "a").items(50)
		s.Close()
		if err := os.Truncate(path, 1000); err != nil {
			t.Fatal(err)
		}
		refused(t, path, session.ErrCorrupt)
	})
	t.Run("a folder", func(t *testing.T) {
		s, err := sqlite.Open(dir, nil)
		if err == nil {
			s.Close()
			t.Fatal("opened")
		}
	})
}

func TestOpenAdoptsAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, open(t, path), "a").items(1)
}

// A process that dies while it makes the file leaves one without tables, or one
// that is not in WAL mode yet; the next goes on.
func TestOpenFinishesSetUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := open(t, path)
	create(t, s, "a").items(1)
	s.Close()
	raw(t, path, "PRAGMA journal_mode = DELETE")
	s = open(t, path)
	if got := seqs(t, s, "a", session.Range{}); len(got) != 2 {
		t.Fatal(got)
	}
	if mode := raw(t, path, "PRAGMA journal_mode"); mode != "wal" {
		t.Errorf("journal mode %q", mode)
	}
}

func TestOpenAnyPath(t *testing.T) {
	for _, name := range []string{"a b.db", "what?.db", "50%.db", "#1.db", "é&=+.db", "a?mode=memory"} {
		path := filepath.Join(t.TempDir(), name, name)
		create(t, open(t, path), "a").items(1)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "sub/sessions.db")
	t.Chdir("/")
	create(t, s, "a").items(1)
	if !filepath.IsAbs(s.Path()) {
		t.Error(s.Path())
	}
}

func TestClosed(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(ctx, "a", a.batch(a.seal(session.KindItem, bigItem))); !errors.Is(err, session.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := s.List(ctx, session.Query{}); !errors.Is(err, session.ErrClosed) {
		t.Errorf("list: %v", err)
	}
	for _, err := range s.Read(ctx, "a", session.Range{}) {
		if !errors.Is(err, session.ErrClosed) {
			t.Errorf("read: %v", err)
		}
	}
	if wal, err := os.ReadFile(s.Path() + "-wal"); err == nil && len(bytes.Trim(wal, "\x00")) != 0 {
		t.Error("the journal has content")
	}
}
