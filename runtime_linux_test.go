package holdfast_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/runspec"
)

// A command in a run of a program cannot write outside the sandbox, even if it was allowed.
func TestCommandIsConfined(t *testing.T) {
	p := newTestEnv(t)
	out := filepath.Join(t.TempDir(), "escaped")
	rt := p.open(holdfast.Config{})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{
		Model:  p.play("  - tool_uses: [{tool: Bash, input: {command: \"echo in > here; echo out > " + out + "\"}}]\n  - text: done\n"),
		Prompt: "go", Permissions: runspec.Permissions{Mode: "bypassPermissions"},
	})
	must(t, err)
	if res := wait(t, run); res.Text != "done" {
		t.Errorf("the result is %+v", res)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "here")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("it wrote outside: %v", err)
	}
}
