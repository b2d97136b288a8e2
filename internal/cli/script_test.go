package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"holdfast": func() { os.Exit(Main()) }, "asker": askingServer})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(what string) (bool, error) {
			if what != "root" {
				return false, fmt.Errorf("unknown condition %q", what)
			}
			return os.Getuid() == 0, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("HOLDFAST_HOME", e.WorkDir+"/home")
			e.Setenv("TMPDIR", e.WorkDir)
			for _, name := range []string{"HOLDFAST_MODEL", "HOLDFAST_STORE", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"} {
				e.Setenv(name, "")
			}
			e.Setenv("TERM", "xterm")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"capture": capture,
			"until":   untilPrinted,
		},
	})
}

// exits runs a program and checks its exit code: exits 3 holdfast run …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// untilPrinted runs a program repeatedly until its output matches: until 'running' holdfast daemon status
func untilPrinted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until pattern program [args…]")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // only its output matters
		if re.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it never printed %s", args[0])
		}
	}
}

// capture sets a variable to the first match of a pattern, or of its first group, in a file: capture ID stdout
// '"id":"([^"]+)"'
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture variable file pattern")
	}
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("no match for %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], strings.TrimSpace(m[len(m)-1]))
}
