package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
)

func ExampleNew() {
	hooks := hook.New(nil)
	defer hooks.Close()
	err := hooks.Register(
		hook.Definition{Event: hook.PreToolUse, Name: "no-force", Matcher: "Bash", Func: noForce},
		hook.Definition{Event: "preToolUse", Name: "files", Matcher: "file_.*", Func: noForce},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hooks.Hooks() {
		fmt.Println(h.Event, h.Dialect, h.Name, h.Timeout)
	}
	err = hooks.Register(hook.Definition{Event: "PreTolUse", Func: noForce})
	if wrong, ok := errors.AsType[*hook.Error](err); ok {
		fmt.Printf("%v: %s\n", wrong, wrong.Hint())
	}
	// Output:
	// PreToolUse claude no-force 30s
	// PreToolUse seed files 30s
	// unknown event "PreTolUse": did you mean PreToolUse?
}

func noForce(_ context.Context, in hook.Input) (*hook.Output, error) {
	if strings.Contains(string(in.Tool.Input), "--force") {
		return &hook.Output{Block: true, Reason: "nothing is forced here"}, nil
	}
	return nil, nil
}

func ExampleRegistry_HandleFunc() {
	hooks := hook.New(nil)
	defer hooks.Close()
	err := hooks.HandleFunc(hook.PreToolUse, "Bash", func(_ context.Context, in hook.Input) (*hook.Output, error) {
		var call struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(in.Tool.Input, &call); err != nil {
			return nil, err // a guard that fails blocks
		}
		call.Command = "nice " + call.Command
		slower, err := json.Marshal(call)
		return &hook.Output{Input: slower}, err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, input := range []string{`{"command":"make"}`, `make`} {
		out := hooks.Fire(context.Background(), hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: "Bash", Input: json.RawMessage(input)}})
		fmt.Println(string(out.Input), out.Block != nil)
	}
	// Output:
	// {"command":"nice make"} false
	//  true
}

func ExampleRegistry_Fire() {
	hooks := hook.New(nil)
	defer hooks.Close()
	say := func(o hook.Output) func(context.Context, hook.Input) (*hook.Output, error) {
		return func(context.Context, hook.Input) (*hook.Output, error) { return &o, nil }
	}
	err := hooks.Register(
		hook.Definition{Event: hook.PreToolUse, Name: "log", Func: say(hook.Output{Message: "seen"})},
		hook.Definition{Event: hook.PreToolUse, Name: "guard", Func: say(hook.Output{Permission: "ask", Reason: "is it safe?"})},
		hook.Definition{Event: hook.PreToolUse, Name: "fan", Func: say(hook.Output{Permission: "allow"})},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := hooks.Fire(context.Background(), hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: "Bash"}})
	fmt.Println(out.Permission, "by", out.PermissionHook+":", out.PermissionReason)
	for _, n := range out.Notices {
		fmt.Println(n.Hook, "says", n.Text)
	}
	for _, run := range out.Ran.Hooks {
		fmt.Printf("%s: %q\n", run.Name, run.Effect)
	}
	// Output:
	// ask by guard: is it safe?
	// log says seen
	// log: ""
	// guard: "ask"
	// fan: "allow"
}
