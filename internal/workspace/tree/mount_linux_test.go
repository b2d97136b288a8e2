package tree

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Mounts below a folder are neither measured nor removed, whether they are another file system or a folder of
// the same one.
func TestMounts(t *testing.T) {
	if os.Getenv("HOLDFAST_TEST_MOUNTS") != "" {
		mounts(t)
		return
	}
	testneed.Root(t, "mounting")
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run", "^TestMounts$", "-test.v")
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_MOUNTS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) {
		testneed.Need(t, "no mount namespaces here: run the tests with CAP_SYS_ADMIN")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// mounts runs in a mount namespace of its own.
func mounts(t *testing.T) {
	s := newTreeEnv(t)
	for _, name := range []string{"bind", "tmp/deep", "file", "locked", "ordinary"} {
		must(t, os.MkdirAll(s.path(name), 0o700))
	}
	must(t, os.WriteFile(s.path("mounted-file"), nil, 0o600))
	must(t, unix.Mount(s.out(), s.path("bind"), "", unix.MS_BIND, ""))
	must(t, unix.Mount(s.out("file"), s.path("mounted-file"), "", unix.MS_BIND, ""))
	must(t, unix.Mount("tmpfs", s.path("tmp/deep"), "tmpfs", 0, "size=1m"))
	must(t, os.WriteFile(s.path("tmp/deep/kept"), []byte("kept"), 0o600))
	must(t, os.Chmod(s.path("bind"), 0o200)) // the mode of the mounted folder; it is not changed

	size, err := Measure(t.Context(), s.parent, "hostile", &Options{Unlock: true})
	if err != nil || size.Mounted != 2 || size.Files != 1 {
		t.Errorf("%+v, %v", size, err)
	}
	_, err = Remove(t.Context(), s.parent, "hostile")
	left, ok := errors.AsType[*RemainingError](err)
	if !ok || left.Count != 3 || !errors.Is(err, ErrMounted) || !strings.Contains(err.Error(), "tmp/deep") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(s.path("tmp/deep/kept")); string(b) != "kept" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	info, err := os.Stat(s.path("bind"))
	if err != nil || info.Mode().Perm() != 0o200 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(s.path("ordinary")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not mounted is left: %v", err)
	}
	must(t, os.Chmod(s.path("bind"), 0o755))
	s.outside = s.snapshot() // with that mode
	for _, name := range []string{"bind", "mounted-file", "tmp/deep"} {
		must(t, unix.Unmount(s.path(name), 0))
	}
	if _, err := Remove(t.Context(), s.parent, "hostile"); err != nil {
		t.Error(err)
	}
	s.checkRemoved()

	// The folder itself may be a mount: it is measured but not removed.
	must(t, os.Mkdir(s.path(), 0o700))
	must(t, unix.Mount(s.out(), s.path(), "", unix.MS_BIND, ""))
	if size, err := Measure(t.Context(), s.parent, "hostile", nil); err != nil || size.Files != 3 {
		t.Errorf("%+v, %v", size, err)
	}
	if _, err := Remove(t.Context(), s.parent, "hostile"); !errors.Is(err, ErrMounted) {
		t.Error(err)
	}
	must(t, unix.Unmount(s.path(), 0))
	s.checkOutside()
}

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// A file that root has made immutable stays, and everything else is removed.
func TestImmutable(t *testing.T) {
	s := newTreeEnv(t)
	must(t, os.MkdirAll(s.path("sub"), 0o700))
	must(t, os.WriteFile(s.path("sub", "file"), nil, 0o600))
	must(t, os.WriteFile(s.path("other"), nil, 0o600))
	f, err := os.Open(s.path("sub", "file"))
	must(t, err)
	defer f.Close()
	set := func(flags int) error { return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) }
	if err := set(immutable); err != nil {
		testneed.Root(t, "making a file immutable")
		testneed.Need(t, "no immutable files here (%v): run the tests on ext4, xfs or btrfs", err)
	}
	_, err = Remove(t.Context(), s.parent, "hostile")
	must(t, set(0))
	if left, ok := errors.AsType[*RemainingError](err); !ok || left.Count != 1 || !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "sub/file") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(s.path("other")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other file is left: %v", err)
	}
	if _, err := Remove(t.Context(), s.parent, "hostile"); err != nil {
		t.Error(err)
	}
	s.checkRemoved()
}
