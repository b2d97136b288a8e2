// Command quickstart is the shortest agent with a tool of its own.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/tool"
)

type stockInput struct {
	Item string `json:"item" jsonschema:"the name of the item"`
}

func stock(_ context.Context, _ *tool.Call, in stockInput) (tool.Result, error) {
	return tool.Text("12 pieces of " + in.Item), nil
}

func main() {
	ctx := context.Background()
	stockTool, err := tool.New(tool.Spec{Name: "Stock", Description: "Returns how much of an item is in stock.", ReadOnly: true}, stock, nil)
	if err != nil {
		panic(err)
	}
	rt, err := holdfast.Open(ctx, &holdfast.Config{Tools: []tool.Tool{stockTool}})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	fmt.Println(rt.Prompt(ctx, "first-run", holdfast.RunSpec{Prompt: "how many lamps do we have?"}))
}
