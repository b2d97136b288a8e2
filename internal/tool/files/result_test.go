package files_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/tool"
)

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Every change of a file is told with the digests of its content before and after.
func TestResultsListChanges(t *testing.T) {
	d := newFilesEnv(t, nil)
	want := func(what string, r tool.Result, name, before, after string) {
		t.Helper()
		change := []record.FileChange{{Path: d.dir + "/" + name, Before: before, After: after}}
		if r.IsError || !slices.Equal(r.Changes, change) {
			t.Errorf("%s: %q with %v, want %v", what, textOf(r), r.Changes, change)
		}
	}
	want("a new file", d.call("Write", write{"sub/new.txt", "one\n"}), "sub/new.txt", "absent", digestOf("one\n"))
	want("a file over itself", d.call("Write", write{"sub/new.txt", "two\n"}), "sub/new.txt", digestOf("one\n"), digestOf("two\n"))
	want("an edit", d.call("Edit", edit{Path: "sub/new.txt", Old: "two", New: "three"}), "sub/new.txt", digestOf("two\n"), digestOf("three\n"))
	want("edits", d.call("MultiEdit", multiEdit{"sub/new.txt", []edit{{Old: "th", New: "f"}, {Old: "ree", New: "our"}}}), "sub/new.txt", digestOf("three\n"), digestOf("four\n"))
	d.put("crlf.txt", "\ufeffa\r\nb\r\n")
	d.read("crlf.txt")
	want("an edit that keeps line ends", d.call("Edit", edit{Path: "crlf.txt", Old: "a\nb", New: "c"}), "crlf.txt", digestOf("\ufeffa\r\nb\r\n"), digestOf("\ufeffc\r\n"))
	if got := d.get("crlf.txt"); digestOf(got) != digestOf("\ufeffc\r\n") {
		t.Errorf("it is %q", got)
	}
	if err := os.Symlink("crlf.txt", d.dir+"/link.txt"); err != nil {
		t.Fatal(err)
	}
	want("through a link", d.call("Write", write{"link.txt", "x"}), "crlf.txt", digestOf("\ufeffc\r\n"), digestOf("x"))
}

func TestALargeFileIsHashedWhenItIsReplaced(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("big", "line\n")
	if err := os.Truncate(d.dir+"/big", 17<<20); err != nil {
		t.Fatal(err)
	}
	content := d.get("big")
	d.call("Read", read{Path: "big", Limit: 1})
	r := d.call("Write", write{"big", "small"})
	if r.IsError {
		t.Skip(textOf(r)) // it cannot be read as text
	}
	if want := (record.FileChange{Path: d.dir + "/big", Before: digestOf(content), After: digestOf("small")}); !slices.Equal(r.Changes, []record.FileChange{want}) {
		t.Errorf("%v, want %v", r.Changes, want)
	}
}

func TestNoOpEdit(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("a.txt", "one")
	for what, r := range map[string]tool.Result{
		"an unread file":    d.call("Write", write{"a.txt", "two"}),
		"an unread edit":    d.call("Edit", edit{Path: "a.txt", Old: "one", New: "two"}),
		"a file outside":    d.call("Write", write{"../b.txt", "two"}),
		"only a reading":    d.call("Read", read{Path: "a.txt"}),
		"what is not there": d.call("Edit", edit{Path: "a.txt", Old: "nowhere", New: "two"}),
	} {
		if len(r.Changes) != 0 {
			t.Errorf("%s: %v", what, r.Changes)
		}
	}
}
