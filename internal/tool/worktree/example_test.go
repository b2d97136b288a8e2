package worktree_test

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "repository")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	folders, err := workdir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folders.Close()
	w, err := worktree.New(folders, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range w.Tools() {
		fmt.Println(t.Spec().Name)
	}
	// Output:
	// EnterWorktree
	// ExitWorktree
}
