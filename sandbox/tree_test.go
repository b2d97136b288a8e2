package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// makeTree creates a small tree with links and returns its resolved root.
func makeTree(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "d", "home/u"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "a/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"l1":      "a/b",
		"l2":      "l1",
		"abs":     root + "/d",
		"a/up":    "../d",
		"dangle":  "missing/x",
		"loop":    "loop2",
		"loop2":   "loop",
		"d/slash": "../a//b/",
		"a/b/top": "../..",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
