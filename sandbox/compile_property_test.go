package sandbox

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
	"github.com/holdfast-dev/holdfast/policy"
)

func drawPathTrees(t *rapid.T, label string) []pathTree {
	names := rapid.SliceOfN(rapid.StringMatching(`(/[ab]){0,4}`), 0, 5).Draw(t, label)
	out := make([]pathTree, len(names))
	for i, name := range names {
		out[i].path = path.Clean("/" + name)
	}
	return out
}

func pathsOf(list []pathTree) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.path)
	}
	return out
}

// TestCommonTrees checks that a path is in both lists if and only if it is in their common trees.
func TestCommonTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawPathTrees(t, "a"), drawPathTrees(t, "b"), drawPathTrees(t, "c")
		p := path.Clean("/" + rapid.StringMatching(`(/[ab]){0,5}`).Draw(t, "p"))
		both := commonTrees(a, b)
		if got, want := treeOf(both, p) != nil, treeOf(a, p) != nil && treeOf(b, p) != nil; got != want {
			t.Errorf("%s in %q and %q: %v, in %q: %v", p, pathsOf(a), pathsOf(b), want, pathsOf(both), got)
		}
		for what, two := range map[string][2][]pathTree{
			"the other way around": {both, commonTrees(b, a)},
			"with itself":          {commonTrees(a, a), outermost(a)},
			"in another order":     {commonTrees(both, c), commonTrees(a, commonTrees(b, c))},
			"everything":           {commonTrees(a, []pathTree{{path: "/"}}), outermost(a)},
		} {
			if !slices.Equal(pathsOf(two[0]), pathsOf(two[1])) {
				t.Errorf("%s: %q, %q", what, pathsOf(two[0]), pathsOf(two[1]))
			}
		}
	})
}

func drawName(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{".git", ".git/hooks", ".git/config", "a", "b", "a/b", ".mcp.json", ".claude", ".claude/worktrees", ".npmrc", ".vscode/x", ".env", "c.pem", "lefthook.yml"}).Draw(t, label)
}

// drawTree creates random files and folders with significant names in ws.
func drawTree(t *rapid.T, root string) {
	for _, dir := range []string{"ws", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 8).Draw(t, "entries") {
		full := filepath.Join(root, "ws", rapid.SampledFrom([]string{"", "a", "b", "a/b"}).Draw(t, "in"), drawName(t, "name"))
		if rapid.Bool().Draw(t, "folder") {
			_ = os.MkdirAll(full, 0o755) // or the name exists already
		} else if os.MkdirAll(filepath.Dir(full), 0o755) == nil {
			if _, err := os.Lstat(full); err != nil {
				_ = os.WriteFile(full, nil, 0o600)
			}
		}
	}
}

// TestCompileProperties checks for random workspaces that every protected name in them is read-only, that the folders
// above it cannot be moved, that denied paths are neither readable nor writable, and that the kernel accepts
// the policy.
func TestCompileProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		drawTree(rt, root)
		s := Settings{}
		for range rapid.IntRange(0, 2).Draw(rt, "denied") {
			s.DeniedPaths = append(s.DeniedPaths, "@/ws/"+drawName(rt, "deny"))
		}
		for range rapid.IntRange(0, 2).Draw(rt, "kept") {
			s.ProtectedPaths = append(s.ProtectedPaths, "@/ws/"+drawName(rt, "keep"))
		}
		p, err := planFor(t, root, testLayer{Settings: s})
		if err != nil {
			rt.Fatal(err)
		}
		checkPlan(rt, p, root+"/ws")
		for _, d := range s.DeniedPaths {
			full := strings.ReplaceAll(d, "@", root)
			if !belowFile(full) && (p.explain(full, policy.OpWrite) == nil || p.explain(full+"/x", policy.OpWrite) == nil) {
				rt.Errorf("%s is denied, and can be written", d)
			}
		}
		for _, d := range s.ProtectedPaths {
			if full := strings.ReplaceAll(d, "@", root); !belowFile(full) && p.explain(full, policy.OpWrite) == nil {
				rt.Errorf("%s is protected, and can be written", d)
			}
		}
	})
}

// belowFile reports whether a parent of a path is a file, so that the path cannot be created.
func belowFile(full string) bool {
	for dir := path.Dir(full); dir != "/"; dir = path.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

func checkPlan(t *rapid.T, p *plan, ws string) {
	k := &p.policy
	held := slices.Concat(k.Hide, k.ReadOnly, namesOf(k.Forbid))
	names := protectedpaths.Protected()
	err := filepath.WalkDir(ws, func(full string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git" && e.IsDir():
			for _, name := range []string{"hooks", "config", "config.worktree"} {
				if !inAny(held, full+"/"+name) {
					t.Errorf("%s/%s is not held", full, name)
				}
			}
			return fs.SkipDir
		case e.Name() == ".claude" && isDir(full+"/worktrees"):
			return fs.SkipDir
		case slices.Contains(names.Folders, e.Name()), slices.Contains(names.Files, e.Name()):
			if !inAny(held, full) {
				t.Errorf("%s is not held", full)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range held {
		for dir := path.Dir(at); within(dir, ws) && dir != ws; dir = path.Dir(dir) {
			if !slices.Contains(k.Pin, dir) && !inAny(k.ReadOnly, dir) {
				t.Errorf("%s is held, and %s can be moved", at, dir)
			}
		}
	}
	for _, at := range slices.Concat(k.Hide, k.ReadOnly, k.Pin, k.Write) {
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			t.Errorf("the kernel cannot have %s: %v", at, err)
		}
	}
	for _, at := range namesOf(k.Forbid) {
		if _, err := os.Lstat(at); err == nil || !isDir(path.Dir(at)) {
			t.Errorf("%s cannot be forbidden", at)
		}
	}
	for _, at := range slices.Concat(k.Read, k.Write) {
		if inAny(k.Hide, at) {
			t.Errorf("%s is hidden and open", at)
		}
	}
}
