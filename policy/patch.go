package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// The names of the links that hold patches if the configuration has no path policy (agentkit's
// names).
const (
	readPathName  = "read-path-policy"
	writePathName = "write-path-policy"
)

// patch is a compiled patch.
type patch struct {
	Patch
	lists pathLists
}

// compilePatch checks and compiles a patch.
func (src *runGuards) compilePatch(p *Patch) (*patch, error) {
	if p.Dir != "" && !strings.HasPrefix(p.Dir, "/") {
		return nil, fmt.Errorf("%w: the dir of a patch must be absolute, not %q", ErrInvalid, p.Dir)
	}
	rules := PathRules{
		Allow: slices.Clone(p.Allow), Deny: slices.Clone(p.Deny), Default: p.Default,
		Cwd: cmp.Or(p.Dir, src.env.cwd()), Home: src.env.home, Resolve: src.env.resolve,
	}
	c := &patch{Patch: Patch{Tool: p.Tool, Mode: p.Mode, Allow: rules.Allow, Deny: rules.Deny, Default: p.Default, Dir: p.Dir}}
	switch p.Mode {
	case "read":
		l, err := newPathLists(accessRead, "reading", rules)
		if err != nil {
			return nil, err
		}
		c.lists = l
	case "write":
		l, err := newPathLists(shellparse.Write, "writing", rules)
		if err != nil {
			return nil, err
		}
		c.lists = l
	default:
		return nil, fmt.Errorf("%w: the mode of a patch must be read or write, not %q", ErrInvalid, p.Mode)
	}
	return c, nil
}

// patched returns the policies of a tool's chain with the patches for the tool applied. A patch is
// added to the first path policy of its mode, or as a new path policy at the end. The caller holds
// the source's read lock.
func (src *runGuards) patched(tool string) []NamedPolicy {
	if len(src.patches) == 0 {
		return src.policies
	}
	list := slices.Clone(src.policies)
	for _, p := range src.patches {
		if p.Tool == "" || p.Tool == tool {
			list = p.applyTo(list)
		}
	}
	return list
}

// applyTo adds the patch to a list of policies. It copies a policy before changing it.
func (p *patch) applyTo(list []NamedPolicy) []NamedPolicy {
	for i, n := range list {
		var lists *pathLists
		switch l := n.Policy.(type) {
		case *readPaths:
			if p.Mode == "read" {
				c := *l
				lists, list[i].Policy = &c.pathLists, &c
			}
		case *writePaths:
			if p.Mode == "write" {
				c := *l
				lists, list[i].Policy = &c.pathLists, &c
			}
		}
		if lists == nil {
			continue
		}
		lists.allow = append(slices.Clip(lists.allow), p.lists.allow...)
		lists.deny = append(slices.Clip(lists.deny), p.lists.deny...)
		if p.Default != NoOpinion {
			lists.rest = p.Default
		}
		return list
	}
	if p.Mode == "read" {
		return append(list, NamedPolicy{Name: readPathName, Policy: &readPaths{p.lists}})
	}
	return append(list, NamedPolicy{Name: writePathName, Policy: &writePaths{p.lists}})
}
