//go:build unix

package chat

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// Commands that are other processes work on the session of the conversation, with its flags.
func TestProgramHasFlags(t *testing.T) {
	program := testprogram.Path(t)
	store := "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	x := talk(t, twoAnswers, func(s *Start) {
		s.Run.Store, s.Run.Settings, s.Run.NoHooks = store, []string{`{"permissions": {"allow": ["Bash(make only-here)"]}}`}, true
	})
	x.u.p.Executable = func() (string, error) { return program, nil }
	var calls []string
	x.u.cli = func(ctx context.Context, args ...string) (string, error) {
		calls = append(calls, strings.Join(args, " "))
		return x.u.runProgram(ctx, args...)
	}
	x.says("a question")
	x.until("1 model call")
	for _, c := range [][2]string{{"/permissions", "make only-here"}, {"/export", "Hello"}, {"/cost", " play "}} {
		x.says(c[0])
		if s := x.until("q close"); !strings.Contains(s, c[1]) {
			t.Errorf("%s shows\n%s", c[0], s)
		}
		x.press("esc")
	}
	x.says("/compact")
	x.until("nothing to compact")
	if last := calls[len(calls)-1]; !strings.Contains(last, " --no-hooks") || !strings.Contains(last, " --model=scripted/") || !strings.Contains(last, " --settings={") {
		t.Errorf("called %q", last)
	}
	x.u.leaveRun(false)
	if s := strings.Join(strings.Fields(x.screen()), " "); !strings.Contains(s, "holdfast --store "+store+" -r ") {
		t.Errorf("the screen is\n%s", s)
	}
}

// JSON in flags, which can have keys, is not an argument of the process.
func TestHideValues(t *testing.T) {
	args, remove, err := hideValues([]string{"mcp", "list", `--mcp-config={"key": "abc"}`, "--settings=file.json", "{"})
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(args[2], "--mcp-config=")
	if got := strings.Join(args, " "); got != "mcp list --mcp-config="+file+" --settings=file.json {" || !exists(file) {
		t.Errorf("%q", got)
	}
	if remove(); exists(file) {
		t.Error("the file stays")
	}
}

// A message that is sent while the session is compacted waits. An error is printed once.
func TestCompactAndSend(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.says("first")
	x.until("1 model call")
	ended := make(chan error)
	x.u.cli = func(context.Context, ...string) (string, error) {
		err := <-ended
		return err.Error(), err
	}
	x.says("/compact")
	x.says("second")
	if s := x.screen(); !strings.Contains(s, "sending  second") || strings.Contains(s, "And again.") {
		t.Errorf("the screen is\n%s", s)
	}
	ended <- outcome.Invalid("it is broken", "")
	if s := x.until("And again."); strings.Count(s, "it is broken") != 1 || strings.Contains(s, "compacting …") {
		t.Errorf("the screen is\n%s", s)
	}
	x.says("/doctor")
	ended <- outcome.Invalid("it is broken", "")
	if s := x.until("q close"); strings.Count(s, "it is broken") != 1 {
		t.Errorf("the page is\n%s", s)
	}
}
