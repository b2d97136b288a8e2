package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	okay(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestOpenRegular(t *testing.T) {
	dir, to := t.TempDir(), outsideFolder(t)
	okay(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	okay(t, os.WriteFile(filepath.Join(dir, "a", "b", "file"), []byte("hello"), 0o600))
	okay(t, os.WriteFile(filepath.Join(dir, "a", "x\ny\xff"), []byte("odd"), 0o600))
	okay(t, os.Link(filepath.Join(dir, "a", "b", "file"), filepath.Join(dir, "hard")))
	for name, target := range map[string]string{
		"link": "a/b/file", "linked": "a", "out": filepath.Join(to, "sub", "file"), "outer": to, "nowhere": "none", "loop": "loop", "a/up": "..",
	} {
		okay(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	hostileKinds(t, dir)
	root := openRoot(t, dir)
	for rel, want := range map[string]any{
		"a/b/file": "hello", "/a/b/file": "hello", "//a/./b//file": "hello", "a/b/../b/file": "hello", "none/../hard": "hello", "a/x\ny\xff": "odd",
		"": ErrNotRegular, "/": ErrNotRegular, ".": ErrNotRegular, "a": ErrNotRegular, "a/b/": ErrNotRegular,
		"..": ErrOutside, "../x": ErrOutside, "a/../../x": ErrOutside, "/../etc/passwd": ErrOutside, "a/b/file/../../../../x": ErrOutside,
		"link": ErrNotRegular, "out": ErrNotRegular, "nowhere": ErrNotRegular, "loop": ErrNotRegular,
		"linked/b/file": ErrNotRegular, "outer/sub/file": ErrNotRegular, "a/up/a/b/file": ErrNotRegular, "loop/x": ErrNotRegular,
		"none": ErrNoFile, "a/none/file": ErrNoFile, "a/b/file/x": ErrNotRegular, "a\x00": ErrInvalidPath,
		"fifo": ErrNotRegular, "socket": ErrNotRegular, "device": ErrNotRegular,
	} {
		b, err := readRegular(root, rel, 100)
		if contract, ok := want.(error); ok {
			if !errors.Is(err, contract) {
				t.Errorf("%q: %q, %v; want %v", rel, b, err, contract)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: the error is not printable: %q", rel, err)
			}
		} else if err != nil || string(b) != want {
			t.Errorf("%q: %q, %v", rel, b, err)
		}
	}
	f, err := OpenRegular(root, "hard", 5)
	okay(t, err)
	defer f.Close()
	if f.Size != 5 || f.ModTime.IsZero() || f.Links != 2 && f.Links != 0 {
		t.Errorf("%+v", f)
	}
	_, err = OpenRegular(root, "hard", 4)
	if !errors.Is(err, ErrTooLarge) || outcome.FromError(err).Code != outcome.TooLarge.Code || !strings.Contains(err.Error(), "5 bytes, the limit is 4") {
		t.Error(err)
	}
}

// A file that grows while it is read is read only up to the limit.
func TestRegularGrows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	okay(t, os.WriteFile(path, []byte("12345"), 0o600))
	f, err := OpenRegular(openRoot(t, dir), "file", 8)
	okay(t, err)
	defer f.Close()
	okay(t, os.WriteFile(path, []byte("123456789"), 0o600))
	b, err := io.ReadAll(f)
	if string(b) != "12345678" || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v", b, err)
	}
	g, err := OpenRegular(openRoot(t, dir), "file", 9)
	okay(t, err)
	defer g.Close()
	if b, err := io.ReadAll(g); string(b) != "123456789" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// Replacing the file or a folder by a link while it is opened has no effect.
func TestOpenRegularRacing(t *testing.T) {
	dir, to := t.TempDir(), outsideFolder(t)
	okay(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	okay(t, os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("inside"), 0o600))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Failures are expected here.
			_ = os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "kept"))
			_ = os.Symlink(filepath.Join(to, "sub"), filepath.Join(dir, "sub"))
			_ = os.Remove(filepath.Join(dir, "sub"))
			_ = os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "sub"))
		}
	}()
	root, opened := openRoot(t, dir), 0
	for range 3000 {
		if b, err := readRegular(root, "sub/file", 100); err == nil {
			opened++
			if string(b) != "inside" {
				t.Fatalf("it has read %q", b)
			}
		}
	}
	close(stop)
	<-ended
	t.Logf("opened %d times", opened)
}

func FuzzOpenRegular(f *testing.F) {
	for _, s := range []string{"a", "/a", "../a", "a/../..", "\x00", "a\n", ".", "\\..\\x", "C:x"} {
		f.Add(s)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		root := openRoot(t, dir)
		b, err := readRegular(root, rel, 10)
		if err == nil && string(b) != "x" {
			t.Errorf("%q: %q", rel, b)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%q: %q", rel, err)
		}
	})
}
