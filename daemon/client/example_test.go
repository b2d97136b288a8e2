package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/runspec"
)

func ExampleDial() {
	ctx := context.Background()
	c, err := client.Dial(ctx, &client.Options{Home: "/nowhere"})
	if errors.Is(err, client.ErrNoDaemon) {
		fmt.Println("start one: holdfast daemon")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	run, err := c.Start(ctx, runspec.Spec{Cwd: "/w", Prompt: "find out why the tests fail"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range run.Events(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, e.Type())
	}
	// Output: start one: holdfast daemon
}
