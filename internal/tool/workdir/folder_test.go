//go:build unix

package workdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// makeTree makes a tree: "dir/", "file" and "link -> target".
func makeTree(t testing.TB, dir string, list ...string) {
	t.Helper()
	for _, entry := range list {
		name, target, link := strings.Cut(entry, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func openFolders(t testing.TB, dir string, more ...string) *workdir.Folders {
	t.Helper()
	f, err := workdir.Open(dir, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLocate(t *testing.T) {
	base := realDir(t)
	makeTree(t, base, "w/app/", "w/app-evil/secret", "w/lib/l.txt", "alias -> w/app", "outside/o.txt",
		"w/app/a.txt", "w/app/d/b.txt", "w/app/rel -> a.txt", "w/app/dir -> d", "w/app/chain -> dir/../dir/b.txt",
		"w/app/out -> ../app-evil/secret", "w/app/outdir -> ../../outside", "w/app/abs -> "+base+"/w/app/a.txt",
		"w/app/dangling -> d/none", "w/app/far -> none/../a.txt", "w/app/x -> y", "w/app/y -> x", "w/app/d/up -> ../..")
	t.Setenv("HOME", base+"/w/app")
	f := openFolders(t, base+"/alias", base+"/w/lib")
	app := base + "/w/app"
	for _, tt := range []struct{ path, want string }{
		{"a.txt", "a.txt"},
		{"./d/../a.txt", "a.txt"},
		{"none/../a.txt", "a.txt"},
		{"new/er/file", "new/er/file"},
		{".", "."},
		{app, "."},
		{app + "/a.txt", "a.txt"},
		{base + "/alias/a.txt", "a.txt"}, // as the folder was named
		{app + "/../app/a.txt", "a.txt"},
		{"~/a.txt", "a.txt"},
		{"rel", "a.txt"},
		{"dir/b.txt", "d/b.txt"},
		{"dir/new.txt", "d/new.txt"},
		{"chain", "d/b.txt"},
		{"dangling", "d/none"},
		{"a.txt/", "a.txt"},
		{"nam\ne\xff", "nam\ne\xff"},
	} {
		got, err := f.Locate(tt.path)
		if err != nil || got.Rel != tt.want || got.Abs != filepath.Join(app, tt.want) {
			t.Errorf("%s: got %q %q, %v; want %q", tt.path, got.Rel, got.Abs, err, tt.want)
		}
	}
	if got, err := f.Locate("../lib/l.txt"); err != nil || got.Abs != base+"/w/lib/l.txt" || got.Rel != "l.txt" {
		t.Errorf("the second folder: %+v, %v", got, err)
	}
	for _, tt := range []struct {
		path string
		want error
	}{
		{"..", workdir.ErrOutside},
		{"../app-evil/secret", workdir.ErrOutside},
		{app + "-evil/secret", workdir.ErrOutside},
		{"/etc/passwd", workdir.ErrOutside},
		{"/", workdir.ErrOutside},
		{"d/../../../x", workdir.ErrOutside},
		{"~/../../x", workdir.ErrOutside},
		{"out", workdir.ErrOutside},
		{"outdir/o.txt", workdir.ErrOutside},
		{"outdir/new.txt", workdir.ErrOutside}, // a missing leaf under a link that leads out
		{"abs", workdir.ErrOutside},            // absolute links are refused wherever they point
		{"d/up/app-evil/secret", workdir.ErrOutside},
		{"far", fs.ErrNotExist},
		{"x", syscall.ELOOP},
		{"a.txt/b", syscall.ENOTDIR},
		{"", workdir.ErrBadPath},
		{"a\x00b", workdir.ErrBadPath},
		{strings.Repeat("d/", 3000), workdir.ErrBadPath},
		{strings.Repeat("n", 256), workdir.ErrBadPath},
	} {
		_, err := f.Locate(tt.path)
		var bad *workdir.PathError
		if !errors.Is(err, tt.want) || !errors.As(err, &bad) {
			t.Errorf("%.40q: got %v, want %v", tt.path, err, tt.want)
		}
	}
	_, err := f.Locate("/etc/passwd")
	if want := "/etc/passwd: outside the session's folders (" + app + ", " + base + "/w/lib)\nhint: holdfast run --add-dir /etc"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSetCwd(t *testing.T) {
	dir := realDir(t)
	makeTree(t, dir, "d/e/", "f", "in -> d", "out -> ..")
	f := openFolders(t, dir)
	for _, tt := range []struct{ path, want string }{
		{"d", "d"}, {"e", "d/e"}, {"../..", ""}, {dir + "/in", "d"}, {"/", "d"}, {"../out", "d"}, {"../f", "d"}, {"none", "d"}, {"..", ""},
	} {
		err := f.SetCwd(tt.path)
		if got := f.Cwd(); got != filepath.Join(dir, tt.want) {
			t.Errorf("%s: in %s, %v", tt.path, got, err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				_ = f.SetCwd(dir + "/d")
				if _, err := f.Locate("e"); err != nil && f.Cwd() == "" {
					t.Error(err)
				}
				_ = f.SetCwd(dir)
			}
		})
	}
	all.Wait()
}

// A folder is what it was when it was opened, whatever is put in its place.
func TestFoldersDoNotFollowARename(t *testing.T) {
	base := realDir(t)
	makeTree(t, base, "w/a", "other/a")
	f := openFolders(t, base+"/w")
	if err := errors.Join(os.Rename(base+"/w", base+"/moved"), os.Symlink("other", base+"/w")); err != nil {
		t.Fatal(err)
	}
	p, err := f.Locate("a")
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	buf := make([]byte, 10)
	if n, _ := in.Read(buf); string(buf[:n]) != "w/a" {
		t.Errorf("read %q", buf[:n])
	}
}

func TestOpenFoldersRefuses(t *testing.T) {
	dir := realDir(t)
	makeTree(t, dir, "file")
	for _, bad := range []string{dir + "/none", dir + "/file"} {
		if f, err := workdir.Open(dir, bad); err == nil {
			f.Close()
			t.Errorf("%s was taken", bad)
		}
	}
}

// A link that is put in a file's place after it was located is not followed.
func TestOpenAfterARace(t *testing.T) {
	dir, outside := realDir(t), realDir(t)
	makeTree(t, outside, "secret")
	makeTree(t, dir, "f", "inner/f", "d/f")
	f := openFolders(t, dir)
	locate := func(path string) workdir.Path {
		p, err := f.Locate(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	file, leaf := locate("f"), locate("d/f")
	turn := func(name, target string) {
		if err := errors.Join(os.RemoveAll(dir+"/"+name), os.Symlink(target, dir+"/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{outside + "/secret", "../" + filepath.Base(outside) + "/secret", "inner/f"} {
		turn("f", target)
		if in, _, err := file.Open(); err == nil {
			in.Close()
			t.Errorf("a link to %s was followed", target)
		}
	}
	for _, target := range []string{outside, "inner"} {
		turn("d", target)
		if in, _, err := leaf.Open(); err == nil {
			in.Close()
			t.Errorf("a parent that became a link to %s was followed", target)
		}
	}
}

func TestOpenWantsRegularFiles(t *testing.T) {
	dir := realDir(t)
	makeTree(t, dir, "d/", "f")
	if err := errors.Join(syscall.Mkfifo(dir+"/pipe", 0o644), os.Chmod(dir+"/f", 0o644)); err != nil {
		t.Fatal(err)
	}
	f := openFolders(t, dir)
	for name, want := range map[string]string{"d": "is a directory", "pipe": "is a named pipe", "none": "no such file"} {
		p, err := f.Locate(name)
		if err == nil {
			_, _, err = p.Open()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	devices := openFolders(t, "/dev")
	p, err := devices.Locate("null")
	if err == nil {
		_, _, err = p.Open()
	}
	if err == nil || !strings.Contains(err.Error(), "is a device") {
		t.Errorf("a device: %v", err)
	}
}

// Whatever path is asked for, what is located lies inside and passes no link.
func FuzzLocate(f *testing.F) {
	dir := realDir(f)
	makeTree(f, dir, "w/a", "w/d/e/f", "w/in -> d/e", "w/up -> ..", "w/d/self -> .", "w/abs -> /", "evil", "w-evil/x")
	folders := openFolders(f, dir+"/w")
	for _, s := range []string{"a", "../evil", "in/../..", "up/evil", "d/self/self/../../up", "/../" + dir, dir + "/w-evil/x", "in/x/y", "~", "abs/etc", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := folders.Locate(path)
		if err != nil {
			return
		}
		if !filepath.IsLocal(p.Rel) || p.Abs != filepath.Join(dir, "w", p.Rel) {
			t.Fatalf("%q: %+v", path, p)
		}
		for at := p.Abs; at != dir; at = filepath.Dir(at) {
			if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
				t.Fatalf("%q: %s is a link", path, at)
			}
		}
		again, err := folders.Locate(p.Abs)
		if err != nil || again.Abs != p.Abs {
			t.Fatalf("%q: %s became %s, %v", path, p.Abs, again.Abs, err)
		}
	})
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	folders, err := workdir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folders.Close()
	p, err := folders.Locate("src/../main.go")
	fmt.Println(p.Rel, err)
	_, err = folders.Locate("../../etc/passwd")
	fmt.Println(errors.Is(err, workdir.ErrOutside))
	// Output:
	// main.go <nil>
	// true
}

// A place that links led to is known by both names, so that what is said about
// the link holds, too.
func TestPathKeepsTheNameOfALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "env.local"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("env.local", filepath.Join(dir, ".env")); err != nil {
		t.Fatal(err)
	}
	f, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for given, named := range map[string]string{".env": ".env", "x/../.env": ".env", "env.local": "", "new": "", ".": ""} {
		if named != "" {
			named = filepath.Join(dir, named)
		}
		if p, err := f.Locate(given); err != nil || p.Named != named {
			t.Errorf("%s: named %q, want %q (%v)", given, p.Named, named, err)
		}
	}
}
