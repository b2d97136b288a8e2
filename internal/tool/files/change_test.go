//go:build unix

package files_test

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
	"time"
)

func TestWrite(t *testing.T) {
	d := newFilesEnv(t, nil)
	wants(t, d.write("new/er/a.txt", "one\ntwo"), "Successfully wrote "+d.dir+"/new/er/a.txt (new, 2 lines, 7 bytes)")
	wants(t, d.write("new/er/a.txt", ""), "Successfully wrote") // it was written here, so it is known
	if got := d.get("new/er/a.txt"); got != "" {
		t.Errorf("holds %q", got)
	}
	d.put("old", "x")
	wants(t, d.write("old", "y"), "has not been read in this session: read it first")
	d.read("old")
	wants(t, d.write("old", "y"), "Successfully wrote")
	d.put("old", "z")
	wants(t, d.write("old", "y"), "has changed since it was read")
	if d.get("old") != "z" {
		t.Error("a stale write went through")
	}
	if left, _ := filepath.Glob(d.dir + "/.holdfast-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteRefuses(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("f", "x")
	err := errors.Join(syscall.Mkfifo(d.dir+"/pipe", 0o644), os.Mkdir(d.dir+"/dir", 0o755),
		os.Symlink("/tmp/out-of-here", d.dir+"/out"), os.Symlink("..", d.dir+"/up"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"pipe": "is a named pipe", "dir": "is a directory", ".": "is a directory", "out": "outside the session's folders",
		"up/x": "outside the session's folders", "f/x": "not a directory", "/etc/x": "outside the session's folders",
	} {
		r := d.call("Write", write{name, "x"})
		if !r.IsError {
			t.Errorf("%s was written", name)
		}
		wants(t, textOf(r), want)
	}
}

func TestChangesKeepModeLinksAndOwner(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("f", "one")
	if err := errors.Join(os.Chmod(d.dir+"/f", 0o751), os.Symlink("f", d.dir+"/link"), os.Link(d.dir+"/f", d.dir+"/hard")); err != nil {
		t.Fatal(err)
	}
	owned := os.Chown(d.dir+"/f", 12345, 54321) == nil // only root may
	d.read("link")
	wants(t, d.edit("link", "one", "two"), "Successfully edited "+d.dir+"/f")
	wants(t, d.write("link", "three"), "Successfully wrote "+d.dir+"/f")
	info, err := os.Lstat(d.dir + "/link")
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if info, err = os.Lstat(d.dir + "/f"); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if s := info.Sys().(*syscall.Stat_t); owned && (s.Uid != 12345 || s.Gid != 54321) {
		t.Errorf("owner %d:%d", s.Uid, s.Gid)
	}
	if d.get("f") != "three" || d.get("hard") != "one" { // a replaced file leaves its other names behind
		t.Errorf("f %q, hard %q", d.get("f"), d.get("hard"))
	}
}

func TestWriteKeepsTheUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	d := newFilesEnv(t, nil)
	d.write("f", "x")
	if info, err := os.Stat(d.dir + "/f"); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name, content, old, fresh string
		all                       bool
		want, says                string
	}{
		{"one", "a b c", "b", "B", false, "a B c", "Successfully edited"},
		{"all", "x y x", "x", "z", true, "z y z", "(2 replacements)"},
		{"to nothing", "a\nb\nc\n", "b\n", "", false, "a\nc\n", "Successfully edited"},
		{"twice", "x y x", "x", "z", false, "x y x", "old_string appears 2 times"},
		{"overlapping", "aaa", "aa", "b", false, "aaa", "old_string appears 2 times"},
		{"overlapping, all", "aaa", "aa", "b", true, "ba", "(1 replacement)"},
		{"missing", "x", "y", "z", false, "x", "old_string not found"},
		{"CRLF with a byte order mark", "\ufeffa\r\nb\r\n", "a", "A", false, "\ufeffA\r\nb\r\n", "Successfully edited"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb", "A\nB\nB2", false, "A\r\nB\r\nB2\r\nc\r\n", "1\tA\n2\tB\n3\tB2\n4\tc"},
		{"CRLF given", "a\r\nb\r\n", "a\r\nb", "A\r\nB", false, "A\r\nB\r\n", "Successfully edited"},
		{"CRLF, only the middle of a line", "abc\r\nd\r\n", "b", "x\ny", false, "ax\r\nyc\r\nd\r\n", "Successfully edited"},
		{"CRLF, from a line's end", "a\r\nb\r\n", "\nb", "\nB", false, "a\r\nB\r\n", "Successfully edited"},
		{"CRLF, up to a line's end", "a\r\nb\r\n", "a\n", "A\n", false, "A\r\nb\r\n", "Successfully edited"},
		{"CRLF, all", "a\r\na\r\n", "a\n", "b\nc\n", true, "b\r\nc\r\nb\r\nc\r\n", "(2 replacements)"},
		{"mixed, LF part", "a\r\nb\r\nc\nd\n", "c\nd", "C\nD", false, "a\r\nb\r\nC\nD\n", "Successfully edited"},
		{"only line ends differ", "a\r\nb\r\n", "a\nb", "a\r\nb", false, "a\r\nb\r\n", "must differ in more than line endings"},
		{"lone CR", "a\rb\r\n", "a\rb", "c", false, "c\r\n", "Successfully edited"},
		{"byte order mark", "\xEF\xBB\xBFa\nb\n", "a\n", "A\n", false, "\xEF\xBB\xBFA\nb\n", "1\tA\n2\tb"},
		{"not UTF-8 elsewhere", "caf\xe9\nx\n", "x", "y", false, "caf\xe9\ny\n", "Successfully edited"},
		{"no newline at the end", "a\nb", "b", "c", false, "a\nc", "2\tc"},
		{"dollars are text", "a", "a", "$1 \\1", false, "$1 \\1", "Successfully edited"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newFilesEnv(t, nil)
			d.put("f", tt.content)
			wants(t, d.edit("f", "no", "way"), "read it first")
			d.read("f")
			r := d.call("Edit", edit{"f", tt.old, tt.fresh, tt.all})
			if got := d.get("f"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			wants(t, textOf(r), tt.says)
			if r.IsError != (tt.content == tt.want) {
				t.Errorf("error %v: %s", r.IsError, textOf(r))
			}
		})
	}
}

func TestEditNoticesChanges(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("f", "one")
	d.read("f")
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(d.dir+"/f", when, when); err != nil {
		t.Fatal(err)
	}
	wants(t, d.edit("f", "one", "two"), "Successfully edited") // touched, but the same
	info, err := os.Stat(d.dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	d.put("f", "2wo") // same size, and the same time
	if err := os.Chtimes(d.dir+"/f", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	wants(t, d.edit("f", "2wo", "x"), "has changed since it was read")
	if err := os.Remove(d.dir + "/f"); err != nil {
		t.Fatal(err)
	}
	wants(t, d.edit("f", "2wo", "x"), "File not found")
}

func TestMultiEdit(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("f", "one\ntwo\nthree\n")
	d.read("f")
	multi := func(edits ...edit) string { return textOf(d.call("MultiEdit", multiEdit{"f", edits})) }
	wants(t, multi(edit{Old: "one", New: "1"}, edit{Old: "nine", New: "9"}), "edit 2 of 2: old_string not found; nothing was changed")
	if d.get("f") != "one\ntwo\nthree\n" {
		t.Errorf("half of it was done: %q", d.get("f"))
	}
	wants(t, multi(edit{Old: "three", New: "3\nmore"}, edit{Old: "one", New: "1"}, edit{Old: "1", New: "I"}), "(3 replacements)\n1\tI\n2\ttwo\n3\t3\n4\tmore")
	if d.get("f") != "I\ntwo\n3\nmore\n" {
		t.Errorf("got %q", d.get("f"))
	}
	wants(t, textOf(d.call("MultiEdit", multiEdit{"f", []edit{}})), "edits must not be empty")
	wants(t, multi(edit{Old: "", New: "x"}), "must not be empty")
}

func TestEditSnippetIsShort(t *testing.T) {
	d := newFilesEnv(t, nil)
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	d.put("f", b.String()+strings.Repeat("w", 3000)+"\n")
	d.read("f")
	got := d.edit("f", "line 250\n", "LINE\n")
	_, snippet, _ := strings.Cut(got, "\n")
	if want := "247\tline 247\n248\tline 248\n249\tline 249\n250\tLINE\n251\tline 251\n252\tline 252\n253\tline 253\n254\tline 254"; snippet != want {
		t.Errorf("got %q", snippet)
	}
	got = textOf(d.call("Edit", edit{"f", "line", "Line", true}))
	if n := strings.Count(got, "\n"); n != 41 || !strings.Contains(got, "… 461 more lines") {
		t.Errorf("%d lines: …%q", n, got[len(got)-80:])
	}
}

func TestConcurrentEdits(t *testing.T) {
	d := newFilesEnv(t, nil)
	var content []string
	for i := range 20 {
		content = append(content, fmt.Sprintf("<%d>", i))
	}
	d.put("f", strings.Join(content, "\n"))
	d.read("f")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { d.edit("f", fmt.Sprintf("<%d>", i), fmt.Sprintf("[%d]", i)) })
	}
	all.Wait()
	if got := d.get("f"); strings.Count(got, "[") != 20 || strings.Contains(got, "<") {
		t.Errorf("an edit was lost: %q", got)
	}
}

// isStrayCR says whether a carriage return is no part of a line end; with those, the
// simple rule that the fuzz test compares with says nothing.
func isStrayCR(s string) bool { return strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\r") }

// Whatever is edited, the rest of the file keeps its bytes.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\nc\n", "b\n", "x\ny\n", true)
	f.Add("\xEF\xBB\xBFa\n", "a", "b", false)
	f.Add("\r\r\n\n", "\n", "\r\n", true)
	f.Add("aaa", "aa", "", true)
	f.Fuzz(func(t *testing.T, content, old, fresh string, all bool) {
		if strings.ContainsRune(content, 0) || strings.HasPrefix(content, "\xFF\xFE") || strings.HasPrefix(content, "\xFE\xFF") ||
			isStrayCR(content) || isStrayCR(old) || isStrayCR(fresh) || strings.ToValidUTF8(old, "") != old || strings.ToValidUTF8(fresh, "") != fresh {
			return
		}
		d := newFilesEnv(t, nil)
		d.put("f", content)
		if r := d.call("Read", read{Path: "f"}); r.IsError {
			return
		}
		r := d.call("Edit", edit{"f", old, fresh, all})
		got := d.get("f")
		if r.IsError {
			if got != content {
				t.Fatalf("a failed edit changed %q to %q", content, got)
			}
			return
		}
		unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		const bom = "\xEF\xBB\xBF"
		if strings.HasPrefix(content, bom) && !strings.HasPrefix(got, bom) {
			t.Fatalf("the mark of %q was lost: %q", content, got)
		}
		crlf := strings.Contains(strings.TrimPrefix(content, bom), "\r\n")
		before, o, n := strings.TrimPrefix(content, bom), old, fresh
		if crlf {
			before, o, n = unix(before), unix(old), unix(fresh)
		}
		times := 1
		if all {
			times = -1
		}
		want := strings.Replace(before, o, n, times)
		after := got
		if strings.HasPrefix(content, bom) {
			after = got[len(bom):]
		}
		if crlf {
			want, after = unix(want), unix(after)
			if bare := strings.Count(content, "\n") == strings.Count(content, "\r\n"); bare && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
				t.Fatalf("%q became %q: line ends are mixed now", content, got)
			}
		}
		if after != want {
			t.Fatalf("%q, %q to %q: got %q, want %q", content, old, fresh, after, want)
		}
	})
}
