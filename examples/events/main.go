// Command events prints what happens during a run: text while the model writes it, tool calls,
// decisions and the result.
//
//	go run ./examples/events
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
)

//go:embed script.yaml
var script []byte // takes the place of a model, so that the program runs without a key

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	m, err := scripted.New(script, nil)
	if err != nil {
		return err
	}
	rt, err := holdfast.Open(ctx, &holdfast.Config{Model: m})
	if err != nil {
		return err
	}
	defer rt.Close()
	r, err := rt.Start(ctx, holdfast.RunSpec{Prompt: "which Go files are there?"})
	if err != nil {
		return err
	}
	var last int64
	for e, err := range r.Events(ctx, 0) { // from the first record; then live
		if err != nil {
			return err
		}
		last = e.Seq
		show(e.Event)
	}
	fmt.Println("read to the last record:", last > 0) // r.Events(ctx, last) continues here, also in another process
	return nil
}

// show prints one event.
func show(e event.Event) {
	switch e := e.(type) {
	case event.TurnStarted:
		fmt.Println("turn started")
	case model.TextDelta: // provisional: the item that follows has the whole text
		fmt.Printf("delta %q\n", e.Text)
	case event.ToolStarted:
		fmt.Println("tool started:", e.Tool, string(e.Input))
	case event.ToolFinished:
		fmt.Println("tool finished:", e.Tool, "error:", e.IsError)
	case event.Result:
		fmt.Println("result:", e.Reason, e.Text)
	}
}
