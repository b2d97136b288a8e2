package workspace

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude"
	"github.com/holdfast-dev/holdfast/internal/workspace/codex"
)

// TestResumable tries every kind of file in the place of an agent's session file or of a folder on the way to
// it, and checks whether the session can be resumed. None of them blocks.
func TestResumable(t *testing.T) {
	const id = "01a20200-0000-7000-8000-000000000001"
	errSome := errors.New("some error: which it is depends on who looks")
	plain := func(t *testing.T, file string) { okay(t, os.WriteFile(file, []byte("{}\n"), 0o600)) }
	moved := func(t *testing.T, name string) { // a link in its place
		t.Helper()
		aside := filepath.Join(t.TempDir(), "real")
		okay(t, errors.Join(os.Rename(name, aside), os.Symlink(aside, name)))
	}
	up := func(file string, n int) string {
		for range n {
			file = filepath.Dir(file)
		}
		return file
	}
	for _, c := range []struct {
		name string
		put  func(t *testing.T, file string)
		want error // nil: the session can be resumed
	}{
		{"a file", plain, nil},
		{"an empty file", func(t *testing.T, file string) { okay(t, os.WriteFile(file, nil, 0o600)) }, nil}, // the agent checks the content itself
		{"no file", func(*testing.T, string) {}, ErrNoFile},
		{"no folder", func(t *testing.T, file string) { okay(t, os.Remove(up(file, 1))) }, ErrNoFile},
		{"a hard link", func(t *testing.T, file string) { // to a file in the home: it is a regular file
			plain(t, file+".other")
			okay(t, os.Link(file+".other", file))
		}, nil},
		{"a hard link to a link", func(t *testing.T, file string) {
			okay(t, errors.Join(os.Symlink("/etc/passwd", file+".other"), os.Link(file+".other", file)))
		}, ErrNotRegular},
		{"a link", func(t *testing.T, file string) { plain(t, file); moved(t, file) }, ErrNotRegular},
		{"a link out of the home", func(t *testing.T, file string) { okay(t, os.Symlink("/etc/passwd", file)) }, ErrNotRegular},
		{"a link to nothing", func(t *testing.T, file string) { okay(t, os.Symlink("nothing", file)) }, ErrNotRegular},
		{"a link to itself", func(t *testing.T, file string) { okay(t, os.Symlink(filepath.Base(file), file)) }, ErrNotRegular},
		{"a linked folder", func(t *testing.T, file string) { plain(t, file); moved(t, up(file, 1)) }, errSome},
		{"a linked folder above", func(t *testing.T, file string) { plain(t, file); moved(t, up(file, 2)) }, errSome},
		{"a FIFO", func(t *testing.T, file string) { okay(t, unix.Mkfifo(file, 0o600)) }, ErrNotRegular},
		{"a FIFO for a folder", func(t *testing.T, file string) {
			okay(t, errors.Join(os.Remove(up(file, 1)), unix.Mkfifo(up(file, 1), 0o600)))
		}, errSome},
		{"a folder", func(t *testing.T, file string) { okay(t, os.Mkdir(file, 0o700)) }, ErrNotRegular},
		{"a file for a folder", func(t *testing.T, file string) {
			okay(t, errors.Join(os.Remove(up(file, 1)), os.WriteFile(up(file, 1), nil, 0o600)))
		}, errSome},
		{"a socket", func(t *testing.T, file string) {
			dir, err := os.Open(up(file, 1)) // its path may be too long
			okay(t, err)
			defer dir.Close()
			l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/s", dir.Fd()))
			okay(t, err)
			t.Cleanup(func() { _ = l.Close() })
			okay(t, os.Rename(filepath.Join(up(file, 1), "s"), file))
		}, ErrNotRegular},
		{"a device", func(t *testing.T, file string) {
			if err := unix.Mknod(file, unix.S_IFCHR|0o600, 1<<8|3); err != nil {
				testneed.Root(t, "making a device")
				t.Skipf("no devices can be made here: %v", err)
			}
		}, ErrNotRegular},
		{"an unreadable file", func(t *testing.T, file string) {
			testneed.User(t)
			plain(t, file)
			okay(t, os.Chmod(file, 0))
		}, os.ErrPermission},
		{"a file without an end", func(t *testing.T, file string) {
			plain(t, file)
			okay(t, os.Truncate(file, maxTranscript+1)) // a sparse file
		}, ErrTooLarge},
	} {
		for agent, file := range map[string]string{
			"claude": ".claude/projects/-work/" + id + ".jsonl",
			"codex":  ".codex/sessions/2026/11/22/rollout-2026-11-22T09-34-41-" + id + ".jsonl",
		} {
			t.Run(c.name+"/"+agent, func(t *testing.T) {
				home := t.TempDir()
				full := filepath.Join(home, file)
				okay(t, os.MkdirAll(filepath.Dir(full), 0o700))
				c.put(t, full)
				pattern := claude.Driver{}.Transcript(id, WorkFolder)
				if agent == "codex" {
					pattern = codex.Driver{}.Transcript(id, WorkFolder)
				}
				_, err := resumable(home, pattern)
				switch {
				case (c.want == nil) != (err == nil), c.want != nil && !errors.Is(c.want, errSome) && !errors.Is(err, c.want):
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		}
	}
}
