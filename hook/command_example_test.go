package hook_test

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/hook"
)

func ExampleNewCommands() {
	commands, err := hook.NewCommands(&hook.CommandsOptions{Project: os.TempDir()})
	if err != nil {
		panic(err)
	}
	defer commands.Close()
	hooks := hook.New(&hook.Options{Runner: commands})
	defer hooks.Close()
	err = hooks.Register(hook.Definition{
		Event: hook.PreToolUse, Matcher: "Bash", Sandbox: "off",
		Command: "echo 'not on Fridays' >&2; exit 2",
	})
	if err != nil {
		panic(err)
	}
	out := hooks.Fire(context.Background(), hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: "Bash"}, CWD: os.TempDir()})
	fmt.Println(out.Block.Text)
	// Output: not on Fridays
}
