package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
)

func TestFilesArePrivate(t *testing.T) {
	for _, mask := range []int{0o000, 0o022, 0o077} {
		func() {
			defer syscall.Umask(syscall.Umask(mask))
			home := filepath.Join(t.TempDir(), "home", "holdfast")
			create(t, open(t, filepath.Join(home, "sessions.db")), "a").items(1)
			seen := 0
			err := filepath.WalkDir(filepath.Dir(home), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				seen++
				want := fs.FileMode(0o600)
				if d.IsDir() {
					want = 0o700
				}
				if got := info.Mode().Perm(); got != want {
					t.Errorf("umask %03o: %s has mode %03o, want %03o", mask, filepath.Base(path), got, want)
				}
				return nil
			})
			if err != nil || seen != 6 { // two folders, the file, its journal, the journal's index and the holders
				t.Errorf("%d files, %v", seen, err)
			}
		}()
	}
}

// mount makes a file system for the test, or skips.
func mount(t *testing.T, source, fstype string, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount(source, dir, fstype, flags, data); err != nil {
		testneed.Root(t, "mounting")
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestReadOnlyMedium(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", 0, "size=4m")
	path := filepath.Join(dir, "sessions.db")
	s := open(t, path)
	create(t, s, "a").items(1)
	s.Close()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, path, session.ErrReadOnly)
	refused(t, filepath.Join(dir, "new.db"), session.ErrReadOnly)
	refused(t, filepath.Join(dir, "sub", "new.db"), session.ErrReadOnly)
}

func TestNoPermission(t *testing.T) {
	testneed.User(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.db")
	open(t, path).Close()
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	refused(t, path, session.ErrReadOnly)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(dir, "new.db"), session.ErrReadOnly)
	os.Chmod(dir, 0o700)
}

func TestFullMedium(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", 0, "size=1m")
	s := open(t, filepath.Join(dir, "sessions.db"))
	a, b := create(t, s, "a"), create(t, s, "b")
	big := item(strings.Repeat("x", 100_000))
	var err error
	acked := a.head
	for i := 0; err == nil && i < 100; i++ {
		if err = s.Append(ctx, "a", a.batch(a.seal(session.KindItem, big), a.seal(session.KindItem, bigItem))); err == nil {
			acked = a.head
		}
	}
	if !errors.Is(err, session.ErrFull) || session.Hint(err) == "" {
		t.Fatalf("error %v, hint %q", err, session.Hint(err))
	}
	if got := seqs(t, s, "a", session.Range{}); int64(len(got)) != acked {
		t.Errorf("%d records, %d were acknowledged", len(got), acked)
	}
	if m := meta(t, s, "a"); m.Head != acked {
		t.Errorf("head %d, %d were acknowledged", m.Head, acked)
	}
	// With room again, the store goes on by itself.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	b.items(1)
	a.head, a.last = acked, a.digest(acked)
	a.add(a.seal(session.KindItem, big))
}

func TestFullMediumAtOpen(t *testing.T) {
	dir := mount(t, "tmpfs", "tmpfs", 0, "size=64k")
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 60<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, filepath.Join(dir, "sessions.db"), session.ErrFull)
}
