package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// limits returns the limits that no rule and no mode can override: the forbidden globs and the
// sandboxes.
func (s *Settings) limits() ([]policy.NamedPolicy, error) {
	var list []policy.NamedPolicy
	seen := map[string]int{}
	add := func(name string, p policy.Policy) {
		if seen[name]++; seen[name] > 1 {
			name += fmt.Sprintf(" %d", seen[name])
		}
		list = append(list, policy.NamedPolicy{Name: name, Policy: p})
	}
	for _, g := range s.globGroups() {
		p, err := policy.PathRules{Deny: g.globs, Origins: g.origins, Cwd: g.dir, Home: s.opt.User, Resolve: Resolve}.ForbidPolicy()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", OriginText(g.origins[0]), err)
		}
		add("forbidden-globs", p)
	}
	if home := s.opt.Home; filepath.IsAbs(home) {
		p, err := policy.PathRules{
			Deny: keyFiles(home), Origins: []policy.Origin{{Rule: "the keys of holdfast login", Layer: "built in"}, {Rule: "the keys of holdfast login", Layer: "built in"}},
			Cwd: s.opt.Cwd, Home: s.opt.User, Resolve: Resolve,
		}.ForbidPolicy()
		if err != nil {
			return nil, err
		}
		add("kept-keys", denyOnly{p})
	}
	for _, box := range s.Sandboxes {
		name := "sandbox"
		if len(s.Sandboxes) > 1 {
			name += " " + box.Origin.Layer
		}
		add(name, box.checker)
	}
	return list, nil
}

// KeysFile is the file in HOLDFAST_HOME in which package keys stores provider keys. No tool may
// access it.
const KeysFile = "keys.json"

// denyOnly is a limit that denies what certainly accesses its paths. It does not ask about commands
// whose paths are unknown, because the sandbox confines these.
type denyOnly struct{ policy.Policy }

func (c denyOnly) Evaluate(r policy.Request) policy.Verdict {
	if v := c.Policy.Evaluate(r); v.Effect == policy.Deny {
		return v
	}
	return policy.Verdict{}
}

// keyFiles returns globs of the file, under both of its names.
func keyFiles(home string) []string {
	literal := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)
	file := filepath.Join(home, KeysFile)
	return []string{literal.Replace(file), literal.Replace(Resolve(file))}
}

// ownPaths returns the files that define the policy, and the user's HOLDFAST_HOME unless the
// session works in it. A program that can write to them can change the policy.
func (s *Settings) ownPaths() []string {
	var list []string
	add := func(path string) {
		if filepath.IsAbs(path) {
			list = append(list, filepath.Clean(path), Resolve(filepath.Clean(path)))
		}
	}
	add(s.opt.Managed)
	if home := s.opt.Home; home != "" {
		add(filepath.Join(home, projectFile))
		add(filepath.Join(home, trustFile))
		if home = Resolve(filepath.Clean(home)); !strings.HasPrefix(s.opt.Cwd+"/", home+"/") {
			add(home)
		}
	}
	for _, l := range s.Layers {
		add(l.File)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// globGroup has globs with the same base folder.
type globGroup struct {
	dir     string
	globs   []string
	origins []policy.Origin
}

// globGroups groups the forbidden globs by base: all are relative to the session's folder, and
// relative ones also to the project's or the file's folder, so that working in a subfolder does not
// circumvent them.
func (s *Settings) globGroups() []*globGroup {
	var groups []*globGroup
	into := func(dir string, v Value[string]) {
		for _, g := range groups {
			if g.dir == dir {
				g.globs, g.origins = append(g.globs, v.Value), append(g.origins, v.Origin)
				return
			}
		}
		groups = append(groups, &globGroup{dir, []string{v.Value}, []policy.Origin{v.Origin}})
	}
	for _, v := range s.Forbidden {
		into(s.opt.Cwd, v)
		if strings.HasPrefix(v.Value, "/") || strings.HasPrefix(v.Value, "~") || strings.HasPrefix(v.Value, "**/") {
			continue
		}
		base := s.Project
		if v.Origin.Layer == layernames.Flag && filepath.IsAbs(v.Origin.File) {
			base = filepath.Dir(v.Origin.File)
		}
		if base != s.opt.Cwd {
			into(base, v)
		}
	}
	return groups
}
