package crashtest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

const insideVar = "HOLDFAST_CRASH_INSIDE"

// The power fails at random times. The test runs itself again in a separate mount namespace,
// so that no other process sees its disk. A full run is HOLDFAST_CRASH_TRIALS=2000, which are
// 100 cuts on each store.
func TestPowerCut(t *testing.T) {
	if !inside(t) {
		return
	}
	for _, store := range Stores {
		for _, work := range []string{"agent", "log", "reopen"} {
			t.Run(store+"/"+work, func(t *testing.T) {
				disk := newDisk(t)
				s := &series{store: store, work: work, dir: disk.Dir, outside: t.TempDir(), rng: random(t), retire: 5}
				s.undisturbed(t)
				for range trials(t, 100) {
					if !s.trial(t, disk.Cut, disk.Restart) {
						t.Fatal("stopped at the first loss")
					}
				}
				s.finish(t)
			})
		}
	}
}

// The same without fsync must lose something, or the test above proves nothing.
func TestPowerCutControl(t *testing.T) {
	if !inside(t) {
		return
	}
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			disk := newDisk(t)
			s := &series{store: store, work: "log", dir: disk.Dir, outside: t.TempDir(), rng: random(t), retire: 1, noSync: true}
			s.undisturbed(t)
			for range trials(t, 100) {
				s.trial(t, disk.Cut, disk.Restart)
			}
			t.Log(&s.tally)
			if s.tally.Broken == 0 {
				t.Error("nothing was lost without fsync: the harness does not see losses")
			}
		})
	}
}

func newDisk(t *testing.T) *Disk {
	t.Helper()
	disk, err := NewDisk(t.Context(), t.TempDir(), 64)
	if err != nil {
		testneed.Need(t, "no loop device can be mounted here (%v); in a container run it with: docker run --privileged", err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// inside reports whether this process has its own mount namespace. If it has not, the test
// runs in one that has, with more in its environment, and its outcome becomes this one's.
func inside(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(insideVar) == t.Name() {
		return true
	}
	testneed.Root(t, "mounting")
	for _, program := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Need(t, "%v; run: apt-get install e2fsprogs mount", err)
		}
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), insideVar+"="+t.Name()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch text := strings.TrimSpace(string(out)); {
	case errors.Is(err, syscall.EPERM):
		testneed.Need(t, "no mount namespace (%v); in a container run it with: docker run --privileged", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	case strings.Contains(text, "--- SKIP"):
		t.Skip(text)
	default:
		t.Logf("in a mount namespace of its own:\n%s", text)
	}
	return false
}
