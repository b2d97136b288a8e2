package cgroup_test

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
)

func ExampleOpen() {
	g, err := cgroup.Open(cgroup.Limits{Memory: 512 << 20, Processes: 100})
	if errors.Is(err, cgroup.ErrUnavailable) { // for most users that are not root
		fmt.Println("nothing was left behind")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here a child writes "0" into each of g.Procs(), and executes a command.
	if err := g.Close(); err == nil {
		fmt.Println("nothing was left behind")
	}
	// Output: nothing was left behind
}

func ExampleDetect() {
	for _, c := range cgroup.Detect().Controllers {
		if !c.Available && c.Reason == "" {
			fmt.Println("a reason is missing")
		}
		fmt.Println(c.Name)
	}
	// Output:
	// pids
	// memory
	// cpu
}
