package files_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
)

// What a call would fail with is known before anybody is asked, and is what it fails with.
func TestCheck(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("unread.txt", "one")
	d.put("read.txt", "one")
	d.read("read.txt")
	for _, c := range []struct {
		tool string
		in   any
		want string
	}{
		{"Write", write{"unread.txt", "x"}, "has not been read in this session"},
		{"Write", write{"read.txt", "x"}, ""},
		{"Write", write{"new.txt", "x"}, ""},
		{"Edit", edit{Path: "unread.txt", Old: "one", New: "two"}, "has not been read in this session"},
		{"Edit", edit{Path: "read.txt", Old: "one", New: "two"}, ""},
		{"Edit", edit{Path: "read.txt", Old: "three", New: "two"}, "not found"},
		{"Edit", edit{Path: "none.txt", Old: "three", New: "two"}, "File not found"},
		{"MultiEdit", multiEdit{"read.txt", []edit{{Old: "one", New: "two"}, {Old: "one", New: "two"}}}, "edit 2 of 2"},
		{"Read", read{Path: "unread.txt"}, ""},
	} {
		one, call := d.newCall(c.tool, c.in)
		err := one.(toolext.Checker).Check(call)
		if got := ""; err != nil {
			got = err.Error()
			if c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%s %s: %q, want %q", c.tool, call.Input, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%s %s: nothing is wrong, want %q", c.tool, call.Input, c.want)
		}
	}
}
