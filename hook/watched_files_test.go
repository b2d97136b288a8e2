package hook_test

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/hook"
)

func TestWatchedFiles(t *testing.T) {
	var none *hook.Registry
	if got := none.WatchedFiles(); got != nil {
		t.Errorf("no registry names %q", got)
	}
	quiet := func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }
	r := hook.New(nil)
	for _, m := range []string{".envrc|.env", "go.mod", "", "*", `.*\.go`, "go.mod | go.sum", "a/b", ".."} {
		if err := r.HandleFunc(hook.FileChanged, m, quiet); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.HandleFunc("fileChanged", `^\.tool-versions$|[a-z]`, quiet); err != nil {
		t.Fatal(err)
	}
	if err := r.HandleFunc(hook.PreToolUse, "Bash", quiet); err != nil {
		t.Fatal(err)
	}
	want := []string{".envrc", ".env", "go.mod", "go.sum", ".tool-versions"}
	if got := r.WatchedFiles(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
