//go:build linux && (amd64 || arm64)

package kernel

import (
	"os"
	"path"
	"slices"
)

// weakerGrants returns the rights of a command without a mount namespace. Landlock cannot exclude a part
// of a tree to which it grants access. If a tree contains a hidden path, split therefore grants
// access to the entries of the tree one by one. Entries that are created in such a tree later are
// not accessible.
func (j *Jail) weakerGrants() ([]grant, error) {
	p := j.policy
	temp := p.Temp
	if temp == "" {
		dir, err := os.MkdirTemp("", "holdfast-")
		if err != nil {
			return nil, err
		}
		j.temp, temp = dir, dir
	}
	list := j.namedGrants(nil, []string{temp}, p.List)
	read := p.Read
	if slices.Contains(read, "/") {
		read = append(slices.Clone(j.top), slices.DeleteFunc(slices.Clone(read), func(r string) bool { return r == "/" })...)
		list = append(list, grant{path: "/", rights: rightsList})
	}
	list = append(list, grant{path: "/proc", rights: rightsRead})
	for _, kind := range []struct {
		trees  []string
		rights uint64
	}{{read, rightsRead}, {p.Write, rightsWrite}} {
		for _, tree := range kind.trees {
			if err := j.eachVisible(tree, p.Hide, func(name string, dir bool) {
				list = append(list, grant{path: name, rights: kind.rights, file: !dir, gone: name != tree})
			}); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// eachVisible calls yield with the largest trees below base that contain no hidden path.
func (j *Jail) eachVisible(base string, hidden []string, yield func(name string, dir bool)) error {
	if anyContains(hidden, base) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return within(h, base) }) {
		yield(base, j.isDir(base))
		return nil
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue
		}
		if err := j.eachVisible(path.Join(base, e.Name()), hidden, yield); err != nil {
			return err
		}
	}
	return nil
}

// TempDir returns the folder for temporary files, as commands see it.
func (j *Jail) TempDir() string {
	switch {
	case !j.weaker && anyContains(j.policy.Hide, "/tmp"):
		return "/dev/shm"
	case !j.weaker:
		return "/tmp"
	case j.temp != "":
		return j.temp
	}
	return j.policy.Temp
}

// Caches returns the folder of the caches, as commands see it; "" if there is none.
func (j *Jail) Caches() string {
	if j.weaker || j.policy.Caches == "" {
		return ""
	}
	return CachesDir
}
