package agent_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
)

// reader is a tool that reads a file.
func reader() *tool.Registry {
	type input struct {
		Path string `json:"path"`
	}
	t, err := tool.New(tool.Spec{Name: "Read", Description: "reads a file", ReadOnly: true},
		func(_ context.Context, _ *tool.Call, in input) (tool.Result, error) {
			return tool.Text("what is in " + in.Path), nil
		},
		func(_ *tool.Call, in input) ([]policy.Request, error) {
			return []policy.Request{{Operation: policy.OpRead, Resource: in.Path, ReadOnly: true}}, nil
		})
	if err != nil {
		panic(err)
	}
	r, err := tool.NewRegistry(t)
	if err != nil {
		panic(err)
	}
	return r
}

// An agent with a stored session, a policy, sandbox settings and hooks.
func ExampleNew_secure() {
	box, err := sandbox.NewChecker(&sandbox.Settings{
		AllowedReadPaths: []string{"/project/"}, DeniedPaths: []string{"/etc/", "/var/"}, DeniedCommands: []string{"rm", "sudo"},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	noBash, err := policy.ToolNames{"Bash"}.Deny()
	if err != nil {
		fmt.Println(err)
		return
	}
	hooks := hook.New(nil)
	defer hooks.Close()
	err = hooks.HandleFunc(hook.PermissionDenied, "", func(_ context.Context, in hook.Input) (*hook.Output, error) {
		fmt.Println("denied:", in.Tool.Error)
		return nil, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := playOf(`steps:
  - tool_uses: [{tool: Read, input: {path: /etc/passwd}}]
  - tool_uses: [{tool: Read, input: {path: /project/main.go}}]
  - {text: "It says: {{last_result}}"}`)
	a, err := agent.New(m, &agent.Options{
		Sessions: session.New(memory.New(), nil),
		Session:  session.RestoreOptions{SessionID: "analysis-session"},
		Permissions: agent.Permissions{
			Config: policy.Config{
				Mode:       policy.ModeBypass,
				CanUseTool: policy.Composite{noBash, policy.ReadOnly{}}.CanUse,
				Limits:     []policy.NamedPolicy{{Name: "sandbox", Policy: box}},
			},
			Sandbox: "checker",
		},
		Hooks:  agent.Hooks{Registry: hooks},
		Tools:  reader(),
		System: "You are a code analysis assistant.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	res, err := a.Prompt(context.Background(), "What does the project do?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output:
	// denied: sandbox: path '/etc/passwd' is outside allowed read scope
	// It says: what is in /project/main.go
}
