package agent_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A long build does not block its turn: the model is notified when it ends.
func ExampleBackground() {
	type input struct{}
	continueRun := make(chan struct{})
	build, err := tool.New(tool.Spec{Name: "Build", Description: "builds everything", ReadOnly: true},
		func(context.Context, *tool.Call, input) (tool.Result, error) {
			<-continueRun
			return tool.Text("built"), nil
		}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := tool.NewRegistry(build)
	if err != nil {
		fmt.Println(err)
		return
	}
	back := &agent.Background{Detach: func(*tool.Call) time.Duration { return 0 }}
	m := playOf(`steps: [{tool_uses: [{tool: Build, input: {}}]}, {text: it builds}, {text: it is built}]`)
	a, err := agent.New(m, &agent.Options{Tools: tools, Background: back})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	ctx := context.Background()
	res, err := a.Prompt(ctx, "build it")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)

	use := back.List()[0].UseID
	close(continueRun)
	if err := back.Wait(ctx, use); err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range a.Run(ctx) { // without input it answers the notification
		if err != nil {
			fmt.Println(err)
			return
		}
		if item, ok := e.(event.ItemAppended); ok && item.Item.Role() == transcript.RoleAssistant {
			fmt.Println(item.Item.Text())
		}
	}
	// Output:
	// it builds
	// it is built
}
