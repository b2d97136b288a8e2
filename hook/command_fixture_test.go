package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// fixture is a project, and a runner with real sandboxes around it.
type fixture struct {
	*Commands
	dir  string // the project
	temp string // /tmp inside the sandboxes
}

// newFixture makes one; where the kernel has no sandbox the test is skipped.
func newFixture(t testing.TB, change func(*CommandsOptions)) *fixture {
	t.Helper()
	if _, err := os.Stat(shellPath); err != nil {
		testneed.Need(t, "no %s here", shellPath)
	}
	f := &fixture{dir: t.TempDir(), temp: t.TempDir()}
	o := &CommandsOptions{
		Project: f.dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		Read: openSandbox(t, f.dir, f.temp, f.temp), Write: openSandbox(t, f.dir, f.temp),
	}
	if change != nil {
		change(o)
	}
	var err error
	if f.Commands, err = NewCommands(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// openSandbox is a sandbox around a project; write names what may be written instead of it.
func openSandbox(t testing.TB, dir, temp string, write ...string) *sandbox.Sandbox {
	t.Helper()
	c, err := sandbox.NewChecker(&sandbox.Settings{AllowedWritePaths: write}, &sandbox.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sandbox.Open([]*sandbox.Checker{c}, &sandbox.OpenOptions{Folders: []string{dir}, Temp: temp})
	if errors.Is(err, kernel.ErrUnsupported) {
		testneed.Need(t, "no sandbox here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// do runs one command, within a time that no test needs.
func (f *fixture) do(t testing.TB, d Definition, in Input) (RunResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if d.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	if in.Event == "" {
		in.Event = d.Event
	}
	if in.CWD == "" {
		in.CWD = f.dir
	}
	return f.Run(ctx, &d, &in)
}

// eachSandbox are the three ways to run a command, with the one that remains where the
// kernel has no pid namespace.
func eachSandbox(t *testing.T, test func(t *testing.T, f *fixture, a string)) {
	for _, a := range []string{sandboxRead, sandboxWrite, sandboxOff} {
		t.Run(string(a), func(t *testing.T) { test(t, newFixture(t, nil), a) })
	}
}

// newGroupFixture makes a runner that has only process groups.
func newGroupFixture(t testing.TB) *fixture {
	f := newFixture(t, nil)
	f.opened = true
	return f
}

// processesWith lists processes that have a variable in their environment.
func processesWith(t testing.TB, variable string) []string {
	t.Helper()
	var out []string
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		b, _ := os.ReadFile(name) // it may have ended meanwhile
		if strings.Contains("\x00"+string(b), "\x00"+variable+"\x00") {
			cmd, _ := os.ReadFile(filepath.Dir(name) + "/cmdline")
			out = append(out, filepath.Base(filepath.Dir(name))+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

// waitGone waits until no process has the variable any more: the kernel takes a moment to
// take a namespace down.
func waitGone(t testing.TB, variable string) {
	t.Helper()
	var list []string
	waitFor(t, func() bool {
		list = processesWith(t, variable)
		return len(list) == 0
	})
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// patience is more than a command needs on any machine, and less than those sleep that do not end.
const patience = 30 * time.Second

// waitFor waits until a condition holds.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not come to pass")
		}
	}
}
