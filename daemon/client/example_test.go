package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/runspec"
)

func ExampleDial() {
	ctx := context.Background()
	c, err := client.Dial(ctx, &client.Options{Home: "/nowhere"})
	if errors.Is(err, client.ErrNone) {
		fmt.Println("start one: holdfast daemon")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	run, err := c.CreateRun(ctx, &api.NewRun{Spec: runspec.Spec{Cwd: "/w", Prompt: "find out why the tests fail"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range c.Events(ctx, run.SessionID, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Record != nil {
			fmt.Println(e.Seq, e.Record.Kind)
		}
	}
	// Output: start one: holdfast daemon
}
