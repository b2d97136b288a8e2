//go:build unix

package files_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestRead(t *testing.T) {
	d := newFilesEnv(t, &files.Options{MaxBytes: 100})
	for _, tt := range []struct {
		name, content string
		offset, limit int
		want          string
	}{
		{"plain", "a\nb\n", 0, 0, "1\ta\n2\tb"},
		{"no newline at the end", "a\nb", 0, 0, "1\ta\n2\tb"},
		{"empty lines", "\n\na\n", 0, 0, "1\t\n2\t\n3\ta"},
		{"CRLF", "a\r\nb\r\n", 0, 0, "1\ta\n2\tb"},
		{"byte order mark", "\xEF\xBB\xBFa\n", 0, 0, "1\ta"},
		{"from an offset", "a\nb\nc\n", 1, 0, "2\tb\n3\tc"},
		{"a limit", "a\nb\nc\n", 1, 1, "2\tb\n[lines 2-2 of 3; continue with offset 2]"},
		{"a limit that fits", "a\nb\nc\n", 1, 2, "2\tb\n3\tc"},
		{"empty", "", 0, 0, "[the file is empty]"},
		{"empty, from an offset", "", 4, 0, "[the file is empty]"},
		{"behind the end", "a\nb\n", 7, 0, "[the file has 2 lines; offset 7 is past the end]"},
		{"not UTF-8", "caf\xe9\n", 0, 0, "1\tcaf\uFFFD\n[invalid UTF-8 is shown as \uFFFD]"},
		{
			"too many bytes", strings.Repeat(strings.Repeat("x", 30)+"\n", 9), 0, 0,
			"1\t" + strings.Repeat("x", 30) + "\n2\t" + strings.Repeat("x", 30) + "\n3\t" + strings.Repeat("x", 30) + "\n4\t" + strings.Repeat("x", 30) +
				"\n[lines 1-4 of 9; continue with offset 4]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.put("f", tt.content)
			r := d.call("Read", read{"f", tt.offset, tt.limit})
			if got := textOf(r); got != tt.want || r.IsError {
				t.Errorf("got %q, error %v; want %q", got, r.IsError, tt.want)
			}
		})
	}
}

func TestReadLongLines(t *testing.T) {
	d := newFilesEnv(t, nil)
	for _, char := range []string{"x", "é", "😀"} {
		d.put("f", strings.Repeat(char, 2000)+"\n"+strings.Repeat(char, 200_000)+"\nend\n")
		want := "1\t" + strings.Repeat(char, 2000) + "\n2\t" + strings.Repeat(char, 2000) + "… [line cut]\n3\tend"
		if got := d.read("f"); got != want {
			t.Errorf("%s: got %d bytes, want %d: …%q", char, len(got), len(want), got[max(0, len(got)-60):])
		}
	}
}

func TestReadRefuses(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("bin", "a\x00b")
	d.put("utf16", "\xFF\xFEa\x00")
	d.put("huge.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 6<<20))
	if err := errors.Join(syscall.Mkfifo(d.dir+"/pipe", 0o644), os.Mkdir(d.dir+"/dir", 0o755), os.Symlink("/etc/passwd", d.dir+"/out")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"bin": fmt.Sprintf("is a binary file (3 bytes, sha256 %x)", sha256.Sum256([]byte("a\x00b"))), "utf16": "is UTF-16 text; convert it with iconv", "huge.png": "the image is larger than 5242880 bytes",
		"pipe": "is a named pipe", "dir": "is a directory", "out": "outside the session's folders", "none": "File not found",
		"/etc/passwd": "hint: holdfast run --add-dir /etc", "": "empty", "a\x00": "NUL",
	} {
		r := d.call("Read", read{Path: name})
		if !r.IsError {
			t.Errorf("%s: no error", name)
		}
		wants(t, textOf(r), want)
	}
	if r := d.call("Read", read{Path: "bin", Offset: -1}); !r.IsError {
		t.Error("a negative offset was taken")
	}
}

func TestReadUnreadable(t *testing.T) {
	testneed.User(t)
	d := newFilesEnv(t, nil)
	d.put("f", "x")
	if err := os.Chmod(d.dir+"/f", 0); err != nil {
		t.Fatal(err)
	}
	wants(t, d.read("f"), "permission denied")
}

func TestReadImages(t *testing.T) {
	d := newFilesEnv(t, nil)
	for mime, content := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n....", "image/jpeg": "\xFF\xD8\xFF....", "image/gif": "GIF89a....", "image/webp": "RIFF\x04\x00\x00\x00WEBPVP8 ",
	} {
		d.put("f.txt", content) // by what it holds, not by its name
		r := d.call("Read", read{Path: "f.txt"})
		if about := fmt.Sprintf("f.txt (%d bytes)]", len(content)); len(r.Content) != 2 || r.IsError || !strings.Contains(textOf(r), about) {
			t.Errorf("%s: %+v", mime, r)
			continue
		}
		m, ok := r.Content[0].(transcript.Media)
		if !ok || m.MIME != mime || string(m.Data) != content {
			t.Errorf("%s: %+v", mime, r.Content[0])
		}
	}
}

// A huge file is read in constant memory, from any offset.
func TestReadHuge(t *testing.T) {
	d := newFilesEnv(t, nil)
	size := int64(64 << 20)
	if os.Getenv("HOLDFAST_HEAVY") != "" { // make this run with HOLDFAST_HEAVY=1 go test ./tool/files
		size = 1 << 30
	}
	f, err := os.Create(d.dir + "/huge")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprint(f, strings.Repeat("head\n", 3000))
	if _, err := f.WriteAt([]byte("\ntail\n"), size); err != nil { // a hole of NULs between
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wants(t, textOf(d.call("Read", read{"huge", 10, 2})), "11\thead\n12\thead\n[lines 11-12; the file has more; continue with offset 12]")
	wants(t, textOf(d.call("Read", read{"huge", 3001, 5})), "3002\ttail")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	wants(t, d.edit("huge", "head", "x"), "cannot be edited")
	wants(t, d.write("huge", "small"), "Successfully wrote")
}

func TestReadCancelled(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("f", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tl, call := d.newCall("Read", read{Path: "f"})
	if r, err := tl.Run(ctx, call); err == nil && !r.IsError {
		t.Error("a cancelled read went on")
	}
}
