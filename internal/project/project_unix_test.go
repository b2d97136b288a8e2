//go:build unix

package project_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// What root writes down in a folder of somebody is theirs: an agent that is not root
// would find a folder there which it cannot look into.
func TestProjectOfAnother(t *testing.T) {
	testneed.Root(t, "a folder of another user")
	for name, files := range map[string][]string{
		"plain": {".holdfast/project"},
		"git":   {".git/holdfast-project"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realTemp(t)
			if name == "plain" {
				tree(t, dir, map[string]string{".holdfast/": ""})
				if err := os.Chown(filepath.Join(dir, ".holdfast"), 4711, 4711); err != nil {
					t.Fatal(err)
				}
			}
			if name == "git" {
				tree(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/": ""})
				if err := os.Chown(filepath.Join(dir, ".git"), 4711, 4711); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(dir, 4711, 4711); err != nil {
				t.Fatal(err)
			}
			idOf(t, dir)
			for _, f := range files {
				info, err := os.Lstat(filepath.Join(dir, f))
				if err != nil {
					t.Fatal(err)
				}
				if st := info.Sys().(*syscall.Stat_t); st.Uid != 4711 || st.Gid != 4711 {
					t.Errorf("%s belongs to %d:%d", f, st.Uid, st.Gid)
				}
			}
		})
	}
}
