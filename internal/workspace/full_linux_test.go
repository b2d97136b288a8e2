package workspace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// On a full disk a workspace can be deleted, which frees space; no other operation is done halfway.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("HOLDFAST_TEST_FULL"); dir != "" {
		fullDisk(t, dir)
		return
	}
	testneed.Root(t, "mounting")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFullDisk$")
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_FULL="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) {
		testneed.Need(t, "no mount namespaces here: run the tests with CAP_SYS_ADMIN")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fullDisk runs in a mount namespace of its own.
func fullDisk(t *testing.T, dir string) {
	okay(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	okay(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	d := diskEnvAt(t, filepath.Join(dir, "home"), nil)
	s := d.make(Settings{Slug: "a"})
	fill := func() {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(d.dirs(s).Home, "big"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		okay(t, err)
		for b := make([]byte, 4096); ; {
			if _, err := f.Write(b); err != nil {
				break
			}
		}
		okay(t, f.Close())
	}
	fill()
	before := fmt.Sprint(inFolder(t, d.folder()))
	if _, err := d.Create(t.Context(), Settings{Slug: "b"}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("create: %v", err)
	}
	if now := fmt.Sprint(inFolder(t, d.folder())); now != before {
		t.Errorf("not removed: %s", now)
	}
	_, err := d.Set(t.Context(), "a", func(s *Settings) error { s.Model = "another"; return nil })
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("set: %v", err)
	}
	if got, err := d.Get(t.Context(), "a"); err != nil || got.Model != "" {
		t.Errorf("%+v, %v", got, err)
	}
	fill()
	if _, err := d.Delete(t.Context(), "a", nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	if left := inFolder(t, d.folder()); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

func inFolder(t *testing.T, dir string) []string {
	t.Helper()
	f, err := os.Open(dir)
	okay(t, err)
	defer f.Close()
	list, err := f.Readdirnames(-1)
	okay(t, err)
	return list
}
