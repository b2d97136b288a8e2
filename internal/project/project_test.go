package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/session"
)

// tree makes files; names that end in a slash are folders.
func tree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func realTemp(t testing.TB) string {
	t.Helper()
	return must(filepath.EvalSymlinks(t.TempDir()))(t)
}

func idOf(t testing.TB, dir string) (id, branch string) {
	t.Helper()
	id, branch, err := project.ID(dir)
	if err != nil || len(id) != 32 {
		t.Fatalf("project of %s: %q %v", dir, id, err)
	}
	return id, branch
}

func TestProjectInGit(t *testing.T) {
	root := realTemp(t)
	tree(t, root, map[string]string{
		"repo/.git/HEAD": "ref: refs/heads/feature/x\n", "repo/.git/objects/": "", "repo/sub/deep/": "",
		"repo/.git/worktrees/tree/HEAD":      "0123456789abcdef0123456789abcdef01234567\n",
		"repo/.git/worktrees/tree/commondir": "../..\n",
		"repo/.git/worktrees/tree/gitdir":    filepath.Join(root, "tree/.git") + "\n",
		"tree/.git":                          "gitdir: " + filepath.Join(root, "repo/.git/worktrees/tree") + "\n",
		"repo/.git/modules/m/HEAD":           "ref: refs/heads/main\n", "repo/.git/modules/m/objects/": "",
		"repo/m/.git": "gitdir: ../.git/modules/m\n",
	})
	id, branch := idOf(t, filepath.Join(root, "repo"))
	if branch != "feature/x" {
		t.Errorf("branch %q", branch)
	}
	if deep, _ := idOf(t, filepath.Join(root, "repo/sub/deep")); deep != id {
		t.Error("a folder of the repository is another project")
	}
	worktree, detached := idOf(t, filepath.Join(root, "tree"))
	if worktree != id || detached != "0123456" {
		t.Errorf("worktree %q (want %q) on %q", worktree, id, detached)
	}
	if m, b := idOf(t, filepath.Join(root, "repo/m")); m == id || b != "main" {
		t.Errorf("submodule %q on %q", m, b)
	}
	for dir, want := range map[string]string{"repo/sub": "feature/x", "tree": "0123456", "repo/m": "main", "none": "", "": ""} {
		if got := project.Branch(filepath.Join(root, dir)); got != want {
			t.Errorf("branch of %q: %q, want %q", dir, got, want)
		}
	}
	st := must(os.Stat(filepath.Join(root, "repo/.git/holdfast-project")))(t)
	if st.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", st.Mode())
	}
	if err := os.Rename(filepath.Join(root, "repo"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	if moved, _ := idOf(t, filepath.Join(root, "moved")); moved != id {
		t.Error("a moved folder is another project")
	}
}

func TestProjectWithoutGit(t *testing.T) {
	root := realTemp(t)
	a, branch := idOf(t, root)
	if again, _ := idOf(t, root); again != a || branch != "" {
		t.Errorf("%q then %q, branch %q", a, again, branch)
	}
	if entries := must(os.ReadDir(root))(t); len(entries) != 0 {
		t.Errorf("it was written into the folder: %v", entries)
	}
	tree(t, root, map[string]string{".holdfast/": ""})
	if again, _ := idOf(t, root); again != a {
		t.Error("a folder that gets settings is another project")
	}
	if st := must(os.Stat(filepath.Join(root, ".holdfast/project")))(t); st.Mode().Perm() != 0o644 {
		t.Errorf("the id has mode %v", st.Mode())
	}
	if entries := must(os.ReadDir(filepath.Join(root, ".holdfast")))(t); len(entries) != 1 {
		t.Errorf("files are left over: %v", entries)
	}
	moved := filepath.Join(realTemp(t), "moved")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	root = moved
	if again, _ := idOf(t, root); again != a {
		t.Error("a folder that is moved with its settings is another project")
	}
	if b, _ := idOf(t, realTemp(t)); b == a {
		t.Error("two folders are one project")
	}
	link := filepath.Join(realTemp(t), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	if b, _ := idOf(t, link); b != a {
		t.Error("a folder seen through a link is another project")
	}
}

// In the root of the file system, where services work, nothing is made that all other
// projects would be below.
func TestProjectOfTheRoot(t *testing.T) {
	_, before := os.Lstat("/.holdfast")
	idOf(t, "/")
	if _, err := os.Lstat("/.holdfast"); err == nil && before != nil {
		t.Error("/.holdfast is there now")
	}
}

// A folder must not pass itself off as part of somebody else's project, nor
// have anything written outside of it.
func TestProjectTrustsNoPointer(t *testing.T) {
	root := realTemp(t)
	tree(t, root, map[string]string{
		"victim/.git/HEAD": "ref: refs/heads/main\n", "victim/.git/objects/": "",
		"victim/.git/worktrees/w/HEAD": "ref: refs/heads/w\n", "victim/.git/worktrees/w/commondir": "../..\n",
		"victim/.git/worktrees/w/gitdir": filepath.Join(root, "real/.git") + "\n", "real/": "",
		"evil1/.git":      "gitdir: ../victim/.git\n",
		"evil2/.git":      "gitdir: ../victim/.git/worktrees/w\n",
		"evil3/.git/HEAD": "ref: refs/heads/main\n",
		"evil3/.git/x":    "", "evil3/.git/commondir": "../../victim/.git\n",
		"evil4/": "", "evil5/": "", "outside/": "",
		"evil6/.git":              "gitdir: .\n",
		"evil7/.git":              strings.Repeat("x", 10000),
		"evil8/.holdfast":         "a file",
		"evil9/.holdfast/project": "not an id",
	})
	for link, to := range map[string]string{"evil4/.git": "../victim/.git", "evil5/.holdfast": "../outside"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	victim, _ := idOf(t, filepath.Join(root, "victim"))
	for _, evil := range []string{"evil1", "evil2", "evil3", "evil4", "evil5", "evil6", "evil7", "evil8", "evil9"} {
		dir := filepath.Join(root, evil)
		id, branch := idOf(t, dir)
		if id == victim {
			t.Errorf("%s passes for the victim's project", evil)
		}
		if branch != "" {
			t.Errorf("%s has the branch %q", evil, branch)
		}
		if again, _ := idOf(t, dir); again != id {
			t.Errorf("%s: the id is not stable", evil)
		}
	}
	if left := must(os.ReadDir(filepath.Join(root, "outside")))(t); len(left) != 0 {
		t.Errorf("something was written outside: %v", left)
	}
}

func TestConcurrentID(t *testing.T) {
	root := realTemp(t)
	tree(t, root, map[string]string{".holdfast/": ""})
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], _, _ = project.ID(root) })
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("%q", ids)
		}
	}
}

func TestProjectErrors(t *testing.T) {
	root := realTemp(t)
	tree(t, root, map[string]string{"file": "x"})
	for _, dir := range []string{filepath.Join(root, "none"), filepath.Join(root, "file")} {
		if _, _, err := project.ID(dir); err == nil || session.Hint(err) == "" {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
