// Command hooks runs Go functions at hook events: one blocks a tool call, one reports what a tool returned.
//
//	go run ./examples/hooks
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

//go:embed script.yaml
var script []byte // takes the place of a model, so that the program runs without a key

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	hooks := hook.New(nil)
	defer hooks.Close()
	err := hooks.Register(
		hook.Definition{Event: hook.PreToolUse, Matcher: "Deploy", Name: "no production", Func: noProduction},
		hook.Definition{Event: hook.PostToolUse, Name: "log", Func: logResult},
	)
	if err != nil {
		return err
	}
	deploy, err := tool.New(tool.Spec{Name: "Deploy", Description: "Deploys the program."}, deploy, nil)
	if err != nil {
		return err
	}
	tools, err := tool.NewRegistry(deploy)
	if err != nil {
		return err
	}
	model, err := scripted.New(script, nil)
	if err != nil {
		return err
	}
	a, err := agent.New(model, &agent.Options{
		Tools:       tools,
		Hooks:       agent.Hooks{Registry: hooks},
		Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}, // hooks apply in every mode
	})
	if err != nil {
		return err
	}
	defer a.Close()
	result, err := a.Prompt(ctx, "deploy it")
	if err != nil {
		return err
	}
	fmt.Println(result.Text)
	return nil
}

// target is the input of Deploy.
type target struct {
	Target string `json:"target"`
}

func deploy(_ context.Context, _ *tool.Call, in target) (tool.Result, error) {
	return tool.Text("deployed to " + in.Target), nil
}

// noProduction blocks a call. An error blocks it, too.
func noProduction(_ context.Context, in hook.Input) (*hook.Output, error) {
	var t target
	if err := json.Unmarshal(in.Tool.Input, &t); err != nil {
		return nil, err
	}
	if t.Target == "production" {
		fmt.Println("blocked:", t.Target)
		return &hook.Output{Block: true, Reason: "deploy to staging first"}, nil // the model gets the reason
	}
	return nil, nil
}

func logResult(_ context.Context, in hook.Input) (*hook.Output, error) {
	fmt.Println(in.Tool.Name, "returned:", in.Tool.Output)
	return nil, nil
}
