package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// commonTrees returns the trees that both lists cover. If one tree is inside the other, it returns the
// inner one. If they are equal, it returns the one that a setting names.
func commonTrees(a, b []pathTree) []pathTree {
	out := []pathTree{}
	for _, x := range a {
		for _, y := range b {
			switch {
			case x.path == y.path && x.setting == "", within(y.path, x.path) && x.path != y.path:
				out = append(out, y)
			case within(x.path, y.path):
				out = append(out, x)
			}
		}
	}
	return outermost(out)
}

// outermost returns the trees that no other tree contains, sorted.
func outermost(list []pathTree) []pathTree {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b pathTree) int {
		if a.path != b.path {
			return strings.Compare(a.path+"/", b.path+"/")
		}
		return -strings.Compare(a.setting, b.setting) // trees named by a setting come first
	})
	kept := out[:0]
	for _, a := range out {
		if treeOf(kept, a.path) == nil {
			kept = append(kept, a)
		}
	}
	return kept
}

// outermostPaths returns the paths that no other path contains, sorted.
func outermostPaths(list []string) []string {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	kept := sorted[:0]
	for _, p := range sorted {
		if !inAny(kept, p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// inAny reports whether a path is one of the trees or inside one.
func inAny(list []string, p string) bool {
	return slices.ContainsFunc(list, func(root string) bool { return within(p, root) })
}

func filter[T any](list []T, want func(T) bool) []T {
	return slices.DeleteFunc(list, func(x T) bool { return !want(x) })
}

// symlinksOn returns the symbolic links on an absolute path, in order.
func symlinksOn(full string) []string {
	var out []string
	done := ""
	for rest := full; rest != "" && len(out) < realpath.MaxLinks; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			done = done[:max(strings.LastIndexByte(done, '/'), 0)]
			continue
		}
		target, err := realpath.ReadLink(done + "/" + part)
		switch {
		case err != nil:
			return out
		case target == "":
			done += "/" + part
			continue
		case path.IsAbs(target):
			out, done = append(out, done+"/"+part), ""
		default:
			out = append(out, done+"/"+part)
		}
		rest = target + "/" + rest
	}
	return out
}
