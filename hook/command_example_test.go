package hook_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/transcript"
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
		Event: hook.PreToolUse, Matcher: "Bash", Access: hook.AccessOff,
		Command: "echo 'not on Fridays' >&2; exit 2",
	})
	if err != nil {
		panic(err)
	}
	out := hooks.Fire(context.Background(), hook.Input{Event: hook.PreToolUse, Tool: "Bash", CWD: os.TempDir()})
	fmt.Println(out.Block.What)
	// Output: not on Fridays
}

func ExampleNewMirror() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	mirror, err := hook.NewMirror(dir, &hook.MirrorOptions{Name: "transcript.jsonl"})
	if err != nil {
		panic(err)
	}
	defer mirror.Close()
	if err := mirror.ItemAppended("s1", transcript.MustEncode(transcript.UserText("hello"))); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(mirror.Path())
	if err != nil {
		panic(err)
	}
	fmt.Println(filepath.Base(mirror.Path()), len(text) > 0)
	// Output: transcript.jsonl true
}
