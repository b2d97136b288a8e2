package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// fillProgram builds the program that fills a home once; it needs no library.
var fillProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "holdfast-fill-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "fill"), "./testdata/fill")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.New(err.Error() + ": " + string(out))
	}
	return os.ReadFile(filepath.Join(dir, "fill"))
})

// filler puts the program where every user can run it.
func filler(t *testing.T, path string) string {
	t.Helper()
	program, err := fillProgram()
	okay(t, err)
	okay(t, os.WriteFile(path, program, 0o755))
	okay(t, os.Chmod(path, 0o755))
	return path
}

// publicFolder creates a folder that every user can read.
func publicFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-public-")
	okay(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	okay(t, os.Chmod(dir, 0o755))
	return dir
}

// heavy returns the number of files and the depth of folders: a million and 10,000 with HOLDFAST_HEAVY=1.
func heavy() (many, deep int) {
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		return 1_000_000, 10_000
	}
	return 1500, 2500
}

// fillHome fills the home of a workspace as a user; 0 is root if the test runs as root.
func (d *diskEnv) fillHome(s *Settings, uid int, out string, args ...string) *exec.Cmd {
	many, deep := heavy()
	dir := publicFolder(d.t)
	args = append(args, "-many", strconv.Itoa(many), "-deep", strconv.Itoa(deep), "-out", out, d.dirs(s).Home)
	cmd := exec.Command(filler(d.t, filepath.Join(dir, "fill")), args...)
	cmd.Dir = dir
	if os.Getuid() == 0 && uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		// In a container it sees its home without the folders around it.
		for _, open := range []string{filepath.Dir(filepath.Dir(d.home)), filepath.Dir(d.home), d.home, d.folder(), d.dirs(s).Base} {
			okay(d.t, os.Chmod(open, 0o755))
		}
	}
	return cmd
}

func (d *diskEnv) fill(s *Settings, uid int, out string) {
	d.t.Helper()
	began := time.Now()
	if b, err := d.fillHome(s, uid, out).CombinedOutput(); err != nil || !bytes.Contains(b, []byte("filled")) {
		d.t.Fatalf("%v: %s", err, b)
	}
	d.t.Logf("filled in %v", time.Since(began))
}

// A home that contains every kind of hostile file harms nothing, and is deleted completely.
func TestHostileHome(t *testing.T) {
	t.Parallel()
	users := map[string]int{"as the agent": 4711}
	if os.Getuid() == 0 {
		users["as root"] = 0
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			d := newDiskEnv(t)
			to := outsideFolder(t)
			s := d.make(Settings{Slug: "a"})
			d.session("one", s)
			before := folderText(t, d.at("a", runName))
			d.fill(s, uid, to)
			d.tryEveryOperation(s, name)
			if now := folderText(t, d.at("a", runName)); now != before {
				t.Errorf("run is %s", now)
			}
			began := time.Now()
			gone, err := d.Delete(t.Context(), "a", nil)
			many, deep := heavy()
			if err != nil || gone.Sessions != 1 || gone.Entries < int64(many+deep) {
				t.Errorf("%+v, %v", gone, err)
			}
			t.Logf("deleted %d entries in %v", gone.Entries, time.Since(began))
			if left, err := os.ReadDir(d.folder()); err != nil || len(left) != 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// tryEveryOperation uses every host operation on a hostile home.
func (d *diskEnv) tryEveryOperation(s *Settings, who string) {
	t := d.t
	t.Helper()
	many, deep := heavy()
	began := time.Now()
	u, err := d.Usage(t.Context(), s.Slug)
	if err != nil || u.Home.Files < int64(many) || u.Home.Folders < int64(deep) || u.Home.Bytes > int64(many+deep+1000)*8192+1<<24 {
		t.Errorf("%s: %+v, %v", who, u, err)
	}
	t.Logf("measured %+v in %v", u.Home, time.Since(began))
	if err := d.CheckDisk(t.Context(), s.Slug); err != nil {
		t.Error(err)
	}
	f, err := d.Files(t.Context(), s.Slug, HomeFiles)
	okay(t, err)
	defer f.Close()
	n := 0
	for after := ""; ; {
		page, err := f.List(t.Context(), "", FilesQuery{Hidden: true, After: after, Limit: 7})
		okay(t, err)
		for _, file := range page.Files {
			n++
			r, err := f.Open(file.Name, 100)
			if regular := file.Type == "file" && file.Size <= 100; regular != (err == nil) {
				t.Errorf("%q, %s: %v", file.Name, file.Type, err)
			}
			if err == nil {
				okay(t, r.Close())
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if n < 30 {
		t.Errorf("%d entries are listed", n)
	}
	began = time.Now()
	page, err := f.List(t.Context(), "many", FilesQuery{After: "file-0000100", Limit: 10})
	if err != nil || len(page.Files) != 10 || page.Files[0].Name != "file-0000101" || page.Next != "file-0000110" {
		t.Errorf("%+v, %v", page, err)
	}
	t.Logf("a page of many in %v", time.Since(began))
	for _, rel := range []string{"link-0/etc/passwd", "link-1/passwd", "link-2", "link-3/x", "link-5", "link-9/sub/file", "many/../link-1/passwd"} {
		if b, err := readRegular(f.root, rel, 1<<20); err == nil {
			t.Errorf("%s is read: %.40q", rel, b)
		}
	}
}

// A program that keeps replacing folders by links while its home is deleted gains nothing; after it has ended,
// the deletion is completed.
func TestHostileRace(t *testing.T) {
	d := newDiskEnv(t)
	to := outsideFolder(t)
	s := d.make(Settings{Slug: "a"})
	cmd := d.fillHome(s, 4711, to, "-race")
	out, err := cmd.StdoutPipe()
	okay(t, err)
	okay(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it does not swap")
	}
	_, err = d.Delete(t.Context(), "a", nil)
	okay(t, cmd.Process.Kill())
	for lines.Scan() { // what it still wrote
		continue
	}
	_ = cmd.Wait() // it was killed
	if err != nil {
		t.Logf("while it ran: %v", err)
		if !errors.Is(err, ErrLeftover) && !errors.Is(err, ErrWriting) {
			t.Error(err)
		}
		if _, err := d.Delete(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(d.folder()); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// The same from inside a real container, by a program that its agent put there.
func TestHostileContainer(t *testing.T) {
	t.Parallel()
	e := testimage.Engine(t)
	to := outsideFolder(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	okay(t, err)
	d := &diskEnv{t: t, Workspaces: newWorkspaces(t, e, home)}
	s := createSmall(t, d.Workspaces, "a", testImage(t, e, "hostile"))
	filler(t, filepath.Join(d.dirs(s).Home, "fill"))
	ensure(t, d.Workspaces, "a")
	many, deep := heavy()
	var out bytes.Buffer
	exit, err := d.Exec(t.Context(), "a", ExecOptions{
		Args:   []string{"/home/agent/fill", "-many", strconv.Itoa(many), "-deep", strconv.Itoa(deep), "-out", to, "/home/agent"},
		Stdout: &out, Stderr: &out,
	})
	if err != nil || exit.Code != 0 {
		t.Fatalf("%v, %+v: %s", err, exit, out.String())
	}
	d.tryEveryOperation(s, "in a container")
	began := time.Now()
	gone, err := d.Delete(t.Context(), "a", nil)
	if err != nil || gone.Entries < int64(many+deep) {
		t.Errorf("%+v, %v", gone, err)
	}
	t.Logf("deleted %d entries in %v", gone.Entries, time.Since(began))
	if left, err := os.ReadDir(d.folder()); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if c, err := d.workspaceContainer(t.Context(), e, "a"); c != nil || err != nil {
		t.Errorf("its container: %+v, %v", c, err)
	}
}
