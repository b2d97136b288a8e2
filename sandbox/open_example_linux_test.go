package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	checker, err := sandbox.NewChecker(&sandbox.Settings{ProtectedPaths: []string{filepath.Join(folder, "keep")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	box, err := sandbox.Open([]*sandbox.Checker{checker}, &sandbox.OpenOptions{Folders: []string{folder}})
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		fmt.Println(e, "hint:", e.Hint())
		return
	}
	defer box.Close()
	_, err = box.Command(context.Background(), "/bin/sh", "-c", "echo x > keep").CombinedOutput()
	fmt.Println(err)
	fmt.Println(box.Explain(filepath.Join(folder, "keep"), policy.OpWrite).Setting)
	// Output:
	// exit status 2
	// protectedPaths
}
