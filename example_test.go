package holdfast_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
)

// A run needs the program's approval before it writes, and is recorded.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	play := filepath.Join(dir, "play.yaml") // stands in for a model
	steps := "steps:\n  - tool_uses: [{tool: Write, input: {file_path: a.txt, content: it}}]\n  - text: I have written it.\n"
	if err := os.WriteFile(play, []byte(steps), 0o600); err != nil {
		panic(err)
	}

	ctx := context.Background()
	rt, err := holdfast.Open(ctx, &holdfast.Config{
		Home: filepath.Join(dir, "home"), Dir: dir,
		Approve: func(_ context.Context, q approval.Request) (approval.Answer, error) {
			fmt.Println("asked about", q.Tool)
			return approval.Answer{Decision: approval.Allow}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	run, err := rt.Start(ctx, holdfast.RunSpec{Model: "scripted/" + play, Prompt: "write a.txt"})
	if err != nil {
		panic(err)
	}
	for e, err := range run.Events(ctx, 0) {
		if err != nil {
			panic(err)
		}
		if started, ok := e.Event.(event.ToolStarted); ok {
			fmt.Println("started", started.Tool)
		}
	}
	result, err := run.Wait(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Text)
	// Output:
	// asked about Write
	// started Write
	// I have written it.
}
