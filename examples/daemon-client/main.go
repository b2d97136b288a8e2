// Command daemon-client starts a run in the daemon, prints its events and answers its approval requests.
// The run continues if the program ends.
//
//	holdfast daemon &
//	go run ./examples/daemon-client "find out why the tests fail"
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/runspec"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: daemon-client PROMPT")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, prompt string) error {
	c, err := client.Dial(ctx, nil) // the daemon of HOLDFAST_HOME, or of HOLDFAST_DAEMON_URL
	if errors.Is(err, client.ErrNoDaemon) {
		return errors.New("no daemon is running; start it with: holdfast daemon")
	}
	if err != nil {
		return err
	}
	defer c.Close()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r, err := c.Start(ctx, runspec.Spec{Cwd: dir, Model: os.Getenv("HOLDFAST_MODEL"), Prompt: prompt})
	if err != nil {
		return err
	}
	r.SetAsker(approve) // without it, requests wait for the console and other clients
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			return err
		}
		if started, ok := e.Event.(event.ToolStarted); ok {
			fmt.Println("started", started.Tool)
		}
	}
	result, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(result.Text)
	return result.Err
}

var input = bufio.NewReader(os.Stdin)

func approve(_ context.Context, q approval.Request) (approval.Answer, error) {
	fmt.Printf("allow %s %s? (y/n) ", q.Tool, q.Requests[0].Resource)
	line, err := input.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "y" {
		return approval.Answer{Decision: approval.Deny}, nil
	}
	return approval.Answer{Decision: approval.Allow}, nil
}
