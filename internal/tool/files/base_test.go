package files_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/tool"
)

func TestRequestBaseIsReplacedContent(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("a.txt", "one")
	if err := os.Mkdir(d.dir+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("one"))
	for _, c := range []struct {
		tool string
		in   any
		want string
	}{
		{"Write", write{"a.txt", "x"}, hex.EncodeToString(sum[:])},
		{"Edit", edit{Path: "a.txt", Old: "one", New: "two"}, hex.EncodeToString(sum[:])},
		{"MultiEdit", multiEdit{"a.txt", []edit{{Old: "one", New: "two"}}}, hex.EncodeToString(sum[:])},
		{"Write", write{"new.txt", "x"}, "absent"},
		{"Write", write{"no/such/folder.txt", "x"}, "absent"},
		{"Write", write{"dir", "x"}, ""},
		{"Read", read{Path: "a.txt"}, ""},
	} {
		if got := d.requests(c.tool, c.in)[0].Base; got != c.want {
			t.Errorf("%s %+v: base %q, want %q", c.tool, c.in, got, c.want)
		}
	}
	before := d.requests("Write", write{"a.txt", "x"})[0].Digest()
	d.put("a.txt", "two")
	if d.requests("Write", write{"a.txt", "x"})[0].Digest() == before {
		t.Error("the digest does not cover the content")
	}
}

func TestALargeFileIsNamedBySizeAndTime(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("big", "")
	grow := func(size int64) string {
		if err := os.Truncate(d.dir+"/big", size); err != nil {
			t.Fatal(err)
		}
		return d.requests("Write", write{"big", "x"})[0].Base
	}
	first := grow(17 << 20)
	if second := grow(18 << 20); len(first) != 64 || first == second {
		t.Errorf("bases %q and %q", first, second)
	}
}

// An approval that outlived the process stands for the reading that the process
// forgot, as long as the file is the one that was approved.
func TestAnApprovedChangeOutlivesTheProcess(t *testing.T) {
	d := newFilesEnv(t, nil)
	for _, c := range []struct {
		name    string
		tool    string
		in      any
		resumed bool
		meddle  bool
		want    string
	}{
		{"an edit of a new process", "Edit", edit{Path: "a.txt", Old: "one", New: "two"}, false, false, "read it first"},
		{"an edit", "Edit", edit{Path: "a.txt", Old: "one", New: "two"}, true, false, "Successfully edited"},
		{"a write", "Write", write{"a.txt", "new"}, true, false, "Successfully wrote"},
		{"an edit of what changed", "Edit", edit{Path: "a.txt", Old: "one", New: "two"}, true, true, "has changed since it was read"},
		{"a write of what changed", "Write", write{"a.txt", "new"}, true, true, "has changed since it was read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.put("a.txt", "one")
			fresh, err := files.New(d.folders, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := tool.NewRegistry(fresh.Tools()...)
			if err != nil {
				t.Fatal(err)
			}
			in, err := json.Marshal(c.in)
			if err != nil {
				t.Fatal(err)
			}
			call := &tool.Call{ID: "c1", Session: "s", Tool: c.tool, Input: in, Resumed: c.resumed}
			run, _ := r.Lookup(c.tool)
			if _, err := run.Requests(call); err != nil {
				t.Fatal(err)
			}
			if c.meddle {
				d.put("a.txt", "one, but longer")
			}
			got, err := run.Run(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, textOf(got), c.want)
		})
	}
}
