//go:build unix

package workdir_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// What lies in a folder besides is read, not written, and leads nowhere else.
func TestLocateReadFindsFoldersBesides(t *testing.T) {
	base := realDir(t)
	makeTree(t, base, "w/a.txt", "skill/SKILL.md", "skill/d/b.txt", "skill/in -> d/b.txt", "skill/out -> ../secret", "skill/abs -> "+base+"/secret",
		"skill-evil/x", "secret", "alias -> skill", "w/link -> ../skill/SKILL.md")
	f := openFolders(t, base+"/w")
	f.AddReadOnly(base + "/alias")
	f.AddReadOnly(base + "/none")
	for path, want := range map[string]string{
		base + "/alias/SKILL.md":         "/skill/SKILL.md",
		"../alias/d/../SKILL.md":         "/skill/SKILL.md",
		base + "/alias/in":               "/skill/d/b.txt",
		base + "/skill/d/b.txt":          "/skill/d/b.txt",
		base + "/alias":                  "/skill",
		"a.txt":                          "/w/a.txt",
		base + "/alias/not there/at/all": "/skill/not there/at/all",
	} {
		if p, err := f.LocateRead(path); err != nil || p.Abs != base+want {
			t.Errorf("%s: %s, %v", path, p.Abs, err)
		}
		if p, err := f.Locate(path); path != "a.txt" && !errors.Is(err, workdir.ErrOutside) {
			t.Errorf("%s: what writes finds %s, %v", path, p.Abs, err)
		}
	}
	for _, path := range []string{
		base + "/alias/out", base + "/alias/abs", base + "/alias/../secret", base + "/skill-evil/x", base + "/secret", base + "/none/x", "link", base,
	} {
		if p, err := f.LocateRead(path); err == nil {
			t.Errorf("%s: found as %s", path, p.Abs)
		}
	}
	var bad *workdir.PathError
	if _, err := f.LocateRead("a\x00"); !errors.As(err, &bad) {
		t.Error(err)
	}
}

// A folder besides is found by the path that its links lead to, also when nothing was read in it before.
func TestLocateReadFindsFoldersBesidesByTheirRealPath(t *testing.T) {
	base := realDir(t)
	makeTree(t, base, "w/a.txt", "skill/SKILL.md", "alias -> skill")
	f := openFolders(t, base+"/w")
	f.AddReadOnly(base + "/skill/none")
	f.AddReadOnly(base + "/alias")
	if p, err := f.LocateRead(base + "/skill/SKILL.md"); err != nil || p.Abs != base+"/skill/SKILL.md" {
		t.Errorf("%s, %v", p.Abs, err)
	}
}
