package crashtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// A run on a full disk ends with its exit code, a message and a hint, and continues when there
// is space again.
func TestFullDisk(t *testing.T) {
	takesLong(t)
	bin := testprogram.Path(t)
	if !inside(t, testprogram.Variable+"="+bin) {
		return
	}
	const failed = 1 // docs/reference/exit-codes.md
	play := filepath.Join(t.TempDir(), "play.yaml")
	if err := os.WriteFile(play, []byte("steps:\n"+strings.Repeat("  - text: Hello.\n", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			if err := os.MkdirAll(home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=2m"); err != nil {
				testneed.Root(t, "mounting")
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(home, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			url := map[string]string{"sqlite": "sqlite:" + home + "/s.db", "file": "file:" + home + "/sessions"}[store]
			run := func(args ...string) (code int, out, said string) {
				cmd := exec.Command(bin, append([]string{"run", "--store", url, "--model", "scripted/" + play}, args...)...)
				cmd.Dir, cmd.Env = t.TempDir(), append(environ(home), "GOMAXPROCS=2")
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
			}
			if code, _, said := run("--session-id", "s", "hello"); code != 0 {
				t.Fatalf("with room: exit code %d: %s", code, said)
			}
			// The prompt is longer than the journal that the first run has left, in which there is room.
			prompt := "hello " + strings.Repeat("again ", 21_000)
			for room := range 6 { // from no room at all to a little
				ballast := filepath.Join(home, "ballast")
				fill(t, ballast, int64(room)*8<<10)
				code, out, said := run("--resume", "s", prompt)
				t.Logf("%d KiB left: exit code %d: %s", room*8, code, strings.TrimSpace(said))
				if code != 0 && (!strings.Contains(said, "no space left") || !strings.Contains(said, "hint:")) {
					t.Errorf("%d KiB left: exit code %d, %q, %q", room*8, code, out, said)
				}
				if room == 0 && code != failed {
					t.Errorf("no room: exit code %d, want %d", code, failed)
				}
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
			}
			if code, _, said := run("--resume", "s", "hello"); code != 0 {
				t.Errorf("with room again: exit code %d: %s", code, said)
			}
		})
	}
}

// fill leaves so many bytes on the disk that holds path.
func fill(t *testing.T, path string, leave int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(b)
		size += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(max(0, size-leave)), f.Close()); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
}
