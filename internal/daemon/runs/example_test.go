package runs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A run is prepared, started, and read from its session's feed.
func ExampleNew() {
	ctx := context.Background()
	hub := feed.New(nil)
	sessions := session.New(memory.New(), &session.Options{AppendObserver: hub.WrapObserver(nil)})
	hub.Serve(sessions)
	r, err := runs.New(&runs.Options{
		Sessions: sessions, Hub: hub,
		Make: func(context.Context, runs.AgentRequest) (*runs.AgentParts, error) {
			m, err := scripted.New([]byte("steps: [{text: hello}]"), nil)
			return &runs.AgentParts{Model: m}, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	defer r.Close()
	greeter := strategy.Single(strategy.Agent{Name: "greeter", Type: strategy.LLM})
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	p, err := r.Prepare(ctx, runs.PrepareOptions{Strategy: greeter, Spec: runspec.Spec{Cwd: folder}})
	if err == nil {
		err = r.Start(ctx, p.Run, "say hello", "", runs.Actor{Name: "ann"})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	sub, err := hub.Subscribe(ctx, p.Run, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		info, err := r.Get(ctx, p.Run)
		if err == nil && e.Kind == feed.Durable && info.Status == api.StatusCompleted {
			fmt.Println(info.Status, info.Result)
			return
		}
	}
	// Output: completed hello
}
