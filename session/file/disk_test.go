//go:build unix

package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/session"
)

// A file that is replaced constantly can still be opened: it is the old one or the new one.
func TestOpenWhileItIsReplaced(t *testing.T) {
	dir := t.TempDir()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var m diskOps
	if err := m.replace(r, "f", []byte("1"), false); err != nil {
		t.Fatal(err)
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
				_ = m.replace(r, "f", []byte("1"), false)
			}
		}
	}()
	for range 3000 {
		f, err := m.open(r, "f", os.O_RDONLY)
		if err != nil {
			t.Error(err)
			break
		}
		f.Close()
	}
	close(over)
	<-done
}

func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "a", "store")
	s := openStore(t, dir)
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.item("x"))
	f := &author{id: "f"}
	add(t, s, f, 0, f.opened(&session.Base{Parent: "s", Seq: 1}))
	if err := s.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	g, m := begin(t, s, "g")
	add(t, s, g, m.Epoch, g.item("x"))
	s.Close()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if files++; fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil || files < 8 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// Files that other users may read, in a store made with another umask or copied, become
// private when a session is opened.
func TestModesAreTightened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := openStore(t, dir)
	a, l := begin(t, s, "s")
	add(t, s, a, l.Epoch, a.item("x"))
	s.Close()
	each := func(do func(path string, d fs.DirEntry) error) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return do(path, d)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each(func(path string, d fs.DirEntry) error {
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o664)
	})
	log, err := session.New(openStore(t, dir), nil).Open(t.Context(), "s", &session.OpenOptions{Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	each(func(path string, d fs.DirEntry) error {
		fi, err := d.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
}

// TestLinks covers the cases of the corpus that plant links in the store.
func TestLinks(t *testing.T) {
	for _, c := range corpus.Area(t, "open-agent-sdk.json", "session_store") {
		switch c.ID {
		case "session_store-046":
			t.Run(c.ID, testLinkedDirectory)
		case "session_store-047":
			t.Run(c.ID, testLinkedLog)
		}
	}
}

// important is a directory that nobody may touch, and a check that nobody did.
func important(t *testing.T, under string) (dir string, check func()) {
	t.Helper()
	dir = filepath.Join(under, "important")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a := &author{id: "x"}
	r := a.opened(nil)
	content := appendLine(nil, &r, 0)
	name := filepath.Join(dir, logName)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if b, _ := os.ReadFile(name); err != nil || len(entries) != 1 || string(b) != string(content) {
			t.Fatalf("touched: %v, %v", entries, err)
		}
	}
}

// refused tries everything with session x and wants it all refused.
func refused(t *testing.T, s *Store, want error) {
	t.Helper()
	ctx := t.Context()
	a := &author{id: "x"}
	open := batchOf(0, a.opened(nil))
	more := batchOf(1, a.item("y"))
	_, recovered := s.Recover(ctx, "x")
	_, acquire := s.Acquire(ctx, "x", session.Lease{}, func(session.Lease) bool { return true })
	var read error
	for _, read = range s.Read(ctx, "x", session.Range{}) {
	}
	for what, err := range map[string]error{
		"create": s.Append(ctx, "x", open), "append": s.Append(ctx, "x", more), "recover": recovered, "read": read,
	} {
		if !errors.Is(err, want) || session.Hint(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_ = acquire // may be given where only the log is foreign
}

func testLinkedDirectory(t *testing.T) {
	for _, inside := range []bool{false, true} {
		root := t.TempDir()
		dir := filepath.Join(root, "store")
		s := openStore(t, dir)
		at := root
		if inside { // a link that stays in the store is none of the store's either
			at = dir
		}
		target, check := important(t, at)
		if err := os.Symlink(target, filepath.Join(dir, "x")); err != nil {
			t.Fatal(err)
		}
		refused(t, s, session.ErrInvalid)
		p, err := s.List(t.Context(), session.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Sessions {
			if m.ID == "x" {
				t.Error("listed")
			}
		}
		if err := s.Delete(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		check()
		if _, err := os.Lstat(filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the link is still there")
		}
	}
}

func testLinkedLog(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "store")
	s := openStore(t, dir)
	target, check := important(t, root)
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(target, logName), filepath.Join(dir, "x", logName)); err != nil {
		t.Fatal(err)
	}
	refused(t, s, session.ErrInvalid)
	check()
}

func TestForeignFiles(t *testing.T) {
	for name, create := range map[string]func(string) error{
		"pipe":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"socket": func(p string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: p})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := create(filepath.Join(dir, "x", logName)); err != nil {
				t.Fatal(err)
			}
			refused(t, s, session.ErrInvalid)
		})
	}
	t.Run("lock and lease", func(t *testing.T) {
		for _, name := range []string{lockName, leaseName} {
			dir := t.TempDir()
			s := openStore(t, dir)
			target, check := important(t, dir)
			if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(target, logName), filepath.Join(dir, "x", name)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Acquire(t.Context(), "x", session.Lease{}, nil); !errors.Is(err, session.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
			check()
		}
	})
	t.Run("a file where a session would be", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, s, session.ErrInvalid)
		if p, err := s.List(t.Context(), session.Query{}); err != nil || len(p.Sessions) != 0 {
			t.Fatalf("%+v, %v", p, err)
		}
	})
}

func TestFormat(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir).Close()
	if err := os.WriteFile(filepath.Join(dir, formatName), []byte("holdfast file store 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, nil); !errors.Is(err, session.ErrNewer) || session.Hint(err) == "" {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, formatName), nil); err == nil {
		t.Fatal("a file is no store")
	}
}

func TestClosed(t *testing.T) {
	s := openStore(t, t.TempDir())
	a, l := begin(t, s, "s")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, list := s.List(ctx, session.Query{})
	_, acquire := s.Acquire(ctx, "s", l, nil)
	var read error
	for _, read = range s.Read(ctx, "s", session.Range{}) {
	}
	for what, err := range map[string]error{
		"append": s.Append(ctx, "s", batchOf(l.Epoch, a.item("x"))), "list": list, "acquire": acquire, "read": read,
		"delete": s.Delete(ctx, "s"), "create": s.Append(ctx, "n", batchOf(0, (&author{id: "n"}).opened(nil))),
	} {
		if !errors.Is(err, session.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A process stopped in the middle of a write does not block others forever.
func TestLockWait(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, &Options{LockWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, l := begin(t, s, "s")
	f, err := os.Open(filepath.Join(dir, "s", lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := diskfile.TryLock(f); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b := batchOf(l.Epoch, a.item("x"))
	if err := s.Append(t.Context(), "s", b); !errors.Is(err, session.ErrBusy) || session.Hint(err) == "" {
		t.Fatal(err)
	}
	patient := openStore(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := patient.Append(ctx, "s", b); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	diskfile.Unlock(f)
	if err := s.Append(t.Context(), "s", b); err != nil {
		t.Fatal(err)
	}
}

// Files are kept open for few sessions only, and no append is the worse for it.
func TestFewOpenSessions(t *testing.T) {
	s, err := Open(t.TempDir(), &Options{OpenSessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var as []*author
	var ls []session.Lease
	for id := range strings.FieldsSeq("a b c d e") {
		a, l := begin(t, s, id)
		as, ls = append(as, a), append(ls, l)
	}
	for range 3 {
		for i, a := range as {
			add(t, s, a, ls[i].Epoch, a.item("x"))
		}
	}
	if len(s.handles) > 2 {
		t.Errorf("%d handles", len(s.handles))
	}
	for _, a := range as {
		if rs, faults := readAll(t, s, a.id, session.Range{}); len(rs) != 4 || faults != nil {
			t.Errorf("%s: %d records, faults %v", a.id, len(rs), faults)
		}
	}
}
