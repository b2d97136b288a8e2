//go:build unix

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// treeEnv is the folder of a test: hostile/ is measured and removed, outside/ must not change.
type treeEnv struct {
	t       *testing.T
	dir     string
	parent  *os.File
	outside map[string]string
}

func newTreeEnv(t *testing.T) *treeEnv {
	t.Helper()
	s := &treeEnv{t: t, dir: t.TempDir()}
	out := filepath.Join(s.dir, "outside")
	for _, name := range []string{"file", "sub/file", "locked/file"} {
		path := filepath.Join(out, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("untouched "+name), 0o640))
	}
	must(t, os.Chmod(filepath.Join(out, "locked"), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(out, "locked"), 0o700) })
	s.outside = s.snapshot()
	must(t, os.Mkdir(s.path(), 0o700))
	var err error
	s.parent, err = os.Open(s.dir)
	must(t, err)
	t.Cleanup(func() { _ = s.parent.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// path returns a path below the hostile folder.
func (s *treeEnv) path(names ...string) string {
	return filepath.Join(append([]string{s.dir, "hostile"}, names...)...)
}

func (s *treeEnv) out(names ...string) string {
	return filepath.Join(append([]string{s.dir, "outside"}, names...)...)
}

// snapshot returns the files outside, with modes.
func (s *treeEnv) snapshot() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	must(s.t, filepath.WalkDir(s.out(), func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if !e.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		all[path] = text
		return nil
	}))
	return all
}

// checkOutside checks that nothing outside has changed.
func (s *treeEnv) checkOutside() {
	s.t.Helper()
	if now := s.snapshot(); fmt.Sprint(now) != fmt.Sprint(s.outside) {
		s.t.Errorf("outside was %v, and is %v", s.outside, now)
	}
}

// checkRemoved checks that the hostile folder was removed, and nothing else.
func (s *treeEnv) checkRemoved() {
	s.t.Helper()
	if _, err := os.Lstat(s.path()); !errors.Is(err, os.ErrNotExist) {
		s.t.Errorf("the folder is still there: %v", err)
	}
	s.checkOutside()
}

// fill creates everything that a program can create in its folder.
func (s *treeEnv) fill() {
	s.t.Helper()
	t, at := s.t, s.path()
	for name, to := range map[string]string{
		"root": "/", "etc": "/etc", "up": "..", "self": "self", "a": "b", "b": "a", "nowhere": "no/such",
		"file": s.out("file"), "folder": s.out("sub"), "locked": s.out("locked"), "here": ".",
	} {
		must(t, os.Symlink(to, filepath.Join(at, "link-"+name)))
	}
	must(t, os.Link(s.out("file"), filepath.Join(at, "hard")))
	must(t, unix.Mkfifo(filepath.Join(at, "fifo"), 0o600))
	s.createSocket(filepath.Join(at, "socket"))
	if os.Getuid() == 0 {
		for name, dev := range map[string]uint64{"null": unix.Mkdev(1, 3), "disk": unix.Mkdev(7, 99), "tty": unix.Mkdev(5, 0)} {
			if err := mknod(filepath.Join(at, "device-"+name), dev); err != nil {
				t.Logf("no devices here: %v", err)
			}
		}
	}
	for _, name := range []string{"a\nb", "\n", "\xff\xfe", strings.Repeat("x", 255), "-rf", " ", "...", "*", "\x1b[2J", "ünï"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(name), 0o600); errors.Is(err, unix.EILSEQ) {
			continue // a file system that requires UTF-8
		} else {
			must(t, err)
		}
		must(t, os.MkdirAll(filepath.Join(at, "names", name, name), 0o700))
	}
	s.createLocked(filepath.Join(at, "modes"))
	s.createDeep(filepath.Join(at, "deep"), depth())
	s.createMany(filepath.Join(at, "many"), many())
}

// createLocked creates nested folders without permissions.
func (s *treeEnv) createLocked(at string) {
	var folders []string
	for _, mode := range []os.FileMode{0, 0o100, 0o200, 0o400, 0o500, 0o300} {
		sub := filepath.Join(at, fmt.Sprintf("%o", mode), "in", "it")
		must(s.t, os.MkdirAll(sub, 0o700))
		must(s.t, os.WriteFile(filepath.Join(sub, "file"), nil, 0))
		for ; sub != at; sub = filepath.Dir(sub) {
			must(s.t, os.Chmod(sub, mode))
			folders = append(folders, sub)
			must(s.t, os.Chmod(filepath.Dir(sub), 0o700))
		}
		must(s.t, os.Chmod(filepath.Join(at, fmt.Sprintf("%o", mode)), mode))
	}
	s.t.Cleanup(func() {
		for _, folder := range slices.Backward(folders) {
			_ = os.Chmod(folder, 0o700)
		}
	})
}

// depth exceeds the maximal path length and the number of open files. For another user it is less, to save
// time.
func depth() int {
	if os.Getuid() != 0 && os.Getenv("HOLDFAST_HEAVY") != "1" {
		return 2500
	}
	return 10_000
}

func (s *treeEnv) createDeep(at string, n int) {
	must(s.t, os.Mkdir(at, 0o700))
	dir, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(s.t, err)
	for range n {
		must(s.t, unix.Mkdirat(dir, "d", 0o700))
		next, err := unix.Openat(dir, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(s.t, err)
		must(s.t, unix.Close(dir))
		dir = next
	}
	must(s.t, unix.Symlinkat(s.out(), dir, "link"))
	must(s.t, unix.Close(dir))
}

// many is the number of files in a large folder: a million with HOLDFAST_HEAVY=1.
func many() int {
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		return 1_000_000
	}
	return 2000
}

func (s *treeEnv) createMany(at string, n int) {
	must(s.t, os.Mkdir(at, 0o700))
	dir, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(s.t, err)
	defer unix.Close(dir)
	for i := range n {
		fd, err := unix.Openat(dir, fmt.Sprintf("file-%07d", i), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
		must(s.t, err)
		must(s.t, unix.Close(fd))
	}
}

func (s *treeEnv) createSocket(path string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(s.t, err)
	defer unix.Close(fd)
	short := filepath.Join(s.dir, "s")
	must(s.t, unix.Bind(fd, &unix.SockaddrUnix{Name: short}))
	must(s.t, os.Rename(short, path))
}

// asUser runs tests of this package again as a user who is not root.
func asUser(t *testing.T, tests string, env ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this user is not root, so the tests ran as a user already")
	}
	dir, err := os.MkdirTemp("", "holdfast-tree-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const uid = 4711
	program := filepath.Join(dir, "tests")
	self, err := os.Executable()
	must(t, err)
	b, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(program, b, 0o755))
	must(t, os.Chown(dir, uid, uid))
	cmd := exec.Command(program, "-test.run", tests, "-test.v")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "TMPDIR="+dir), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("as user %d on %s: %v\n%s", uid, runtime.GOOS, err, out)
	}
}
