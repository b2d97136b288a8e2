//go:build linux

package cgroup

import (
	"path"
	"strings"
	"testing"
)

func TestShownAt(t *testing.T) {
	for _, tt := range []struct{ root, group, want string }{
		{"/", "/", "/m"},
		{"/", "/a/b", "/m/a/b"},
		{"/a", "/a", "/m"},
		{"/a", "/a/b", "/m/b"},
		{"/a", "/ab", ""},
		{"/a", "/", ""},
		{"/", "/../x", ""},
		{"/..", "/", ""},
		{"/", "/..x", "/m/..x"},
		{"/", "", ""},
	} {
		if got := shownAt(mount{root: tt.root, point: "/m"}, tt.group); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.group, tt.root, got, tt.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`/a\040b`: "/a b", `/a\134040b`: `/a\040b`, `\011\012`: "\t\n", `\9`: `\9`, `\999`: `\999`, `a\04`: `a\04`, "": "",
	} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestParseMountRefuses(t *testing.T) {
	for _, line := range []string{"", "36 35 0:30 / /m rw", "36 35 0:30 / /m - cgroup cgroup rw", "36 35 0:30 / /m rw - cgroup", "36 35 0:30 / m rw - cgroup cgroup rw"} {
		if m, err := parseMount(line); err == nil {
			t.Errorf("%q: %+v", line, m)
		}
	}
}

// FuzzHierarchies checks that this process's group is below the mount, whatever the kernel's files contain.
func FuzzHierarchies(f *testing.F) {
	const line = "31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n33 30 0:29 /a /p\\040q rw shared:1 - cgroup cgroup rw,pids,cpu\n"
	f.Add(line, "0::/x\n8:cpu,pids:/a/b\n")
	f.Add(line, "0::/../x\n8:pids:/ab\n::\n")
	f.Add("0 0 0 /  0 0 - cgroup2 0 0", "0::/")
	f.Fuzz(func(t *testing.T, mounts, membership string) {
		list, err := hierarchies(mounts, membership)
		if err != nil && list != nil {
			t.Fatal("both a list and an error")
		}
		for _, h := range list {
			inside := h.current == "" || path.Clean(h.mount) == "/" || h.current == path.Clean(h.mount) ||
				strings.HasPrefix(h.current, path.Clean(h.mount)+"/")
			if h.version != 1 && h.version != 2 || !inside {
				t.Fatalf("%+v", h)
			}
		}
	})
}
