package shell_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/tool"
)

func TestBashInTheBackground(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		b := open(t, &shell.Options{Background: true, Timeout: 50 * time.Millisecond})
		call := &tool.Call{ID: "c1", Tool: "Bash", Input: json.RawMessage(`{"command":"mkdir -p sub; cd sub; echo begun; sleep 0.3; echo done","run_in_background":true}`)}
		if d := b.bash.(tool.Detacher).Detach(call); d != 0 {
			t.Errorf("it holds its turn up for %v", d)
		}
		var out bytes.Buffer
		call.Output = &out
		r, err := b.bash.Run(t.Context(), call)
		if err != nil || r.IsError || textOf(r) != "begun\ndone\n" || out.String() != "begun\ndone\n" {
			t.Errorf("%v: %q, and as it came %q", err, textOf(r), out.String())
		}
		if b.folders.Cwd() != b.folders.Roots()[0] {
			t.Errorf("the current directory went along: %s", b.folders.Cwd())
		}
	})
}

func TestBashInTheBackgroundMayBeTimed(t *testing.T) {
	b := open(t, &shell.Options{Background: true, MaxTimeout: time.Millisecond})
	r, err := b.bash.Run(t.Context(), &tool.Call{Input: json.RawMessage(`{"command":"sleep 60","run_in_background":true,"timeout":100}`)})
	if err != nil || !r.IsError || !strings.Contains(textOf(r), "timed out after 100ms") {
		t.Errorf("%v: %q", err, textOf(r))
	}
}

func TestBashWithoutBackgroundTasks(t *testing.T) {
	b := open(t, nil)
	if strings.Contains(string(b.bash.Spec().Input), "run_in_background") {
		t.Error("the model is told of what is not there")
	}
	_, err := b.bash.Requests(&tool.Call{Input: json.RawMessage(`{"command":"true","run_in_background":true}`)})
	if err == nil || !strings.Contains(err.Error(), "omit run_in_background") {
		t.Error(err)
	}
	if d := b.bash.(tool.Detacher).Detach(&tool.Call{Input: json.RawMessage(`{"command":"true"}`)}); d >= 0 {
		t.Errorf("it holds its turn up for %v only", d)
	}
}
