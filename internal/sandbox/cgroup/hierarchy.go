//go:build linux

package cgroup

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is one tree of groups. In version 1 there are several, each with some of the
// controllers; in version 2 there is one.
type hierarchy struct {
	version     int
	controllers []string // of version 1
	mount       string   // its mount point
	current     string   // the folder of this process's group; "" if the mount does not show it
}

// hierarchies returns the mounted hierarchies with the group of this process in each. If a hierarchy is
// mounted more than once, the mount that shows this process's group is used.
func hierarchies(mountinfo, membership string) ([]hierarchy, error) {
	groups := memberships(membership)
	var out []hierarchy
	for line := range strings.Lines(mountinfo) {
		m, err := parseMount(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		h := hierarchy{mount: m.point}
		switch m.kind {
		case "cgroup":
			h.version = 1
			h.controllers = intersect(controllers, strings.Split(m.options, ","))
			if len(h.controllers) == 0 {
				continue
			}
			h.current = shownAt(m, groups[h.controllers[0]])
		case "cgroup2":
			h.version = 2
			h.current = shownAt(m, groups[""])
		default:
			continue
		}
		same := slices.IndexFunc(out, func(o hierarchy) bool {
			return o.version == h.version && slices.Equal(o.controllers, h.controllers)
		})
		switch {
		case same < 0:
			out = append(out, h)
		case out[same].current == "":
			out[same] = h
		}
	}
	return out, nil
}

func intersect(list, with []string) []string {
	var out []string
	for _, s := range list {
		if slices.Contains(with, s) {
			out = append(out, s)
		}
	}
	return out
}

// memberships reads /proc/self/cgroup. It returns the group of each controller, and under the key
// "" the group of version 2.
func memberships(s string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(s) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			out[c] = f[2]
		}
	}
	return out
}

// mount is a line of /proc/self/mountinfo.
type mount struct {
	root, point, kind, options string
}

// parseMount parses "36 35 0:30 /root /point rw shared:1 - type source options".
func parseMount(line string) (mount, error) {
	before, after, ok := strings.Cut(line, " - ")
	f, g := strings.Split(before, " "), strings.Split(after, " ")
	if !ok || len(f) < 6 || len(g) < 3 {
		return mount{}, fmt.Errorf("list of mounts: cannot read %q", line)
	}
	m := mount{root: unescape(f[3]), point: unescape(f[4]), kind: g[0], options: g[len(g)-1]}
	if !path.IsAbs(m.point) {
		return mount{}, fmt.Errorf("list of mounts: %q is not a folder", m.point)
	}
	return m, nil
}

// unescape decodes the kernel's escapes, such as \040, for characters that would end a field.
func unescape(s string) string {
	for i := 0; i+3 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
			s = s[:i] + string([]byte{byte(n)}) + s[i+4:]
		}
	}
	return s
}

// shownAt returns where a mount shows a group, or "" if it does not show it.
func shownAt(m mount, group string) string {
	if group == "" || slices.Contains(strings.Split(group, "/"), "..") {
		return ""
	}
	rest := group
	if m.root != "/" {
		after, ok := strings.CutPrefix(group, m.root)
		if !ok || after != "" && after[0] != '/' {
			return ""
		}
		rest = after
	}
	return path.Join(m.point, rest)
}
