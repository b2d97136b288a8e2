package agent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// clock is a tool that always returns the same time.
func clock() *tool.Registry {
	type input struct {
		Zone string `json:"zone"`
	}
	t, err := tool.New(tool.Spec{Name: "Clock", Description: "returns the time", ReadOnly: true},
		func(_ context.Context, _ *tool.Call, in input) (tool.Result, error) {
			return tool.Text("noon in " + in.Zone), nil
		}, nil)
	if err != nil {
		panic(err)
	}
	r, err := tool.NewRegistry(t)
	if err != nil {
		panic(err)
	}
	return r
}

func playOf(yaml string) model.Model {
	m, err := scripted.New([]byte(yaml), nil)
	if err != nil {
		panic(err)
	}
	return m
}

func ExampleNew() {
	m := playOf(`steps: [{text: hello}]`)
	a, err := agent.New(m, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	res, err := a.Prompt(context.Background(), "hi")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text, res.Reason)
	// Output: hello completed
}

// Run yields events as they happen.
func ExampleAgent_Run() {
	m := playOf(`steps: [{tool_uses: [{tool: Clock, input: {zone: UTC}}]}, {text: "it is noon"}]`)
	a, err := agent.New(m, &agent.Options{Tools: clock(), Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModePlan}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	for e, err := range a.Run(context.Background(), transcript.Text{Text: "what time is it?"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch e := e.(type) {
		case event.ToolFinished:
			fmt.Println(e.Tool, "said:", e.Content[0].(transcript.Text).Text)
		case event.Result:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// Clock said: noon in UTC
	// it is noon
}

// An agent with a session resumes where the previous agent stopped.
func ExampleOptions_sessions() {
	sessions := session.New(memory.New(), nil)
	for range 2 {
		m := playOf(`steps: [{text: first}, {text: second}]`)
		a, err := agent.New(m, &agent.Options{Sessions: sessions, Session: session.RestoreOptions{SessionID: "notes"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := a.Prompt(context.Background(), "go on")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Turn, res.Text)
		if err := a.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// turn-1 first
	// turn-2 second
}

// With a driver, the host decides when the loop continues and how it asks for approval.
func ExampleAgent_Driver() {
	m := playOf(`steps: [{tool_uses: [{tool: Write, input: {}}]}, {text: as you wish}]`)
	write, err := tool.NewRegistry(hasContent("Write", "written"))
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(m, &agent.Options{Tools: write})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	ctx := context.Background()
	d := a.Driver(nil)
	if err := d.Submit(ctx, transcript.Text{Text: "write it down"}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		step, err := d.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch {
		case len(step.Approvals) > 0:
			q := step.Approvals[0]
			fmt.Println("asks about", q.Tool)
			if err := d.Resolve(ctx, q.ID, approval.Answer{Decision: approval.Deny, Message: "rather not"}); err != nil {
				fmt.Println(err)
				return
			}
		case step.AfterToolResult():
			fmt.Println("continues")
		case step.Result != nil:
			fmt.Println(step.Result.Text)
			return
		}
	}
	// Output:
	// asks about Write
	// continues
	// as you wish
}

// No one answers here, so the approval request stays open. Another program answers it, and the next
// agent of the session acts on the answer.
func ExampleOptions_ask() {
	sessions := session.New(memory.New(), nil)
	ctx := context.Background()
	write, err := tool.NewRegistry(hasContent("Write", "written"))
	if err != nil {
		fmt.Println(err)
		return
	}
	run := func() {
		m := playOf(`steps: [{tool_uses: [{tool: Write, input: {}}]}, {text: done}]`)
		a, err := agent.New(m, &agent.Options{
			Sessions: sessions, Session: session.RestoreOptions{SessionID: "notes"}, Tools: write,
			Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
				return approval.Answer{}, approval.ErrSuspend
			}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer a.Close()
		for e, err := range a.Run(ctx, transcript.Text{Text: "go on"}) {
			switch e := e.(type) {
			case event.ToolFinished:
				fmt.Println(e.Tool, "ran")
			case event.Result:
				fmt.Println(e.Text)
			}
			if err != nil {
				fmt.Println("left open:", errors.Is(err, approval.ErrSuspend))
			}
		}
	}
	run()
	open, err := approval.Pending(ctx, sessions, "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	won, err := approval.Resolve(ctx, sessions, "notes", approval.Answer{RequestID: open[0].ID, Decision: approval.Allow, Actor: "ann"})
	fmt.Println(won.Actor, won.Decision, err)
	run()
	// Output:
	// left open: true
	// ann allow <nil>
	// Write ran
	// done
}

// A policy change is recorded and applies from the next decision on.
func ExampleAgent_Change() {
	a, err := agent.New(playOf(`steps: [{text: hello}]`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	changed, err := a.Change(context.Background(), policy.Change{Mode: policy.ModePlan, By: "ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Mode(), "is version", changed.Version)
	stale := 0
	_, err = a.Change(context.Background(), policy.Change{Mode: policy.ModeBypass, IfVersion: &stale})
	fmt.Println(errors.Is(err, policy.ErrStale))
	// Output:
	// plan is version 1
	// true
}
