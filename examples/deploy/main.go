// Command deploy gives an agent a tool whose calls the user approves. It can be killed and started
// again.
//
//	go run ./examples/deploy
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/tool"
)

type deployInput struct {
	Service string `json:"service" jsonschema:"the service to deploy"`
}

func deploy(_ context.Context, _ *tool.Call, in deployInput) (tool.Result, error) {
	time.Sleep(3 * time.Second) // time for you to kill the program
	return tool.Text("deployed " + in.Service), nil
}

func approve(_ context.Context, q approval.Request) (approval.Answer, error) {
	fmt.Printf("%s %s\nallow? [y/n] ", q.Tool, q.Requests[0].Input)
	var key string
	if _, err := fmt.Scanln(&key); err == nil && key == "y" {
		return approval.Answer{Decision: approval.Allow, Actor: "ann"}, nil
	}
	return approval.Answer{Decision: approval.Deny, Actor: "ann", Message: "not today"}, nil
}

func main() {
	ctx := context.Background()
	deployTool, err := tool.New(tool.Spec{Name: "Deploy", Description: "Deploys a service."}, deploy, nil)
	if err != nil {
		panic(err)
	}
	rt, err := holdfast.Open(ctx, &holdfast.Config{Approve: approve, Tools: []tool.Tool{deployTool}})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	fmt.Println(rt.Prompt(ctx, "deploy-1", holdfast.RunSpec{Prompt: "deploy the api"}))
}
