package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func TestAccessOfCommands(t *testing.T) {
	f := newFixture(t, nil)
	if err := os.WriteFile(filepath.Join(f.dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(a string) (RunResult, error) {
		return f.do(t, Definition{Event: PreToolUse, Dialect: dialectSeed, Sandbox: a, Command: "cat file && echo x > new && rm new"}, Input{})
	}
	for _, a := range []string{"", sandboxRead} {
		_, err := run(a)
		if err == nil {
			t.Fatalf("with %q it wrote the project", a)
		}
		for _, want := range []string{"exit code 1", "write to " + f.dir + "/new was refused", `"sandbox": "write"`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("with %q the failure is\n%v\nwithout %q", a, err, want)
			}
		}
	}
	for _, a := range []string{sandboxWrite, sandboxOff} {
		if got, err := run(a); err != nil || got.Output.Message != "text" || got.Notice != "" {
			t.Errorf("with %q: %+v, %v", a, got, err)
		}
	}
	if _, err := run("all"); err == nil {
		t.Error("an unknown access runs")
	}
}

// What was refused is told also when the hook answered all the same.
func TestRefusalWithOutput(t *testing.T) {
	f := newFixture(t, nil)
	a, err := f.do(t, Definition{Event: UserPromptSubmit, Command: "echo x > log; echo said"}, Input{})
	if err != nil || a.Output.Context != "said" || !strings.Contains(a.Notice, "/log was refused") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestWithoutSandboxes(t *testing.T) {
	none := newFixture(t, func(o *CommandsOptions) { o.Read, o.Write = nil, nil })
	if _, err := none.do(t, Definition{Event: Stop, Command: "true"}, Input{}); err == nil || !strings.Contains(err.Error(), `"sandbox": "off"`) {
		t.Errorf("a command that nothing holds: %v", err)
	}
	if _, err := none.do(t, Definition{Event: Stop, Command: "true", Sandbox: sandboxOff}, Input{}); err != nil {
		t.Error(err)
	}
	let := newFixture(t, func(o *CommandsOptions) { o.Read, o.Write, o.NoSandbox = nil, nil, true })
	if _, err := let.do(t, Definition{Event: Stop, Command: "true"}, Input{}); err != nil {
		t.Error(err)
	}
}

func TestDetachedCommand(t *testing.T) {
	eachSandbox(t, func(t *testing.T, f *fixture, a string) {
		mark := "MARK=detached" + string(a)
		d := Definition{Event: PostToolUse, Sandbox: a, Command: `export ` + mark + `; echo '{"async":true,"asyncTimeout":20000}'; read -r < go; echo '{"systemMessage":"late"}'`}
		pipe := filepath.Join(f.dir, "go")
		if err := mkfifo(pipe); err != nil {
			testneed.Need(t, "no named pipes here: %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		got, err := f.Run(ctx, &d, &Input{Event: PostToolUse, CWD: f.dir})
		cancel() // what was waited for has ended
		if err != nil || got.Async == nil || got.Output != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		if err := os.WriteFile(pipe, []byte("on\n"), 0); err != nil {
			t.Fatal(err)
		}
		late := <-got.Async
		if late.Err != nil || late.Output == nil || late.Output.Warning != "late" || *late.Exit != 0 {
			t.Errorf("%+v, %v", late.Output, late.Err)
		}
		if _, more := <-got.Async; more {
			t.Error("it answers twice")
		}
		waitGone(t, mark)
	})
}

func TestDetachedCommandTimeout(t *testing.T) {
	f := newFixture(t, nil)
	run := func(timeout string) RunResult {
		t.Helper()
		got, err := f.do(t, Definition{Event: PostToolUse, Command: `export MARK=ended; echo '{"async":true` + timeout + `}'; sleep 1000`}, Input{})
		if err != nil || got.Async == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	if late := <-run(`,"asyncTimeout":100`).Async; !errors.Is(late.Err, context.DeadlineExceeded) {
		t.Errorf("when its time is up: %v", late.Err)
	}
	got := run("")
	began := time.Now()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if late := <-got.Async; late.Err == nil || time.Since(began) > patience {
		t.Errorf("when the runner ends: %v after %s", late.Err, time.Since(began))
	}
	waitGone(t, "MARK=ended")
}

// One that ends at once is answered for at once, or late.
func TestDetachedCommandEnds(t *testing.T) {
	f := newFixture(t, nil)
	got, err := f.do(t, Definition{Event: PostToolUse, Command: `printf '{"async":true}\n{"systemMessage":"now"}'`}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Async != nil {
		got = <-got.Async
	}
	if got.Output == nil || got.Output.Warning != "now" {
		t.Errorf("%+v", got.Output)
	}
}

func TestSeedDoesNotDetach(t *testing.T) {
	f := newFixture(t, nil)
	got, err := f.do(t, Definition{Event: PostToolUse, Dialect: dialectSeed, Command: `echo '{"async":true}'; echo more`}, Input{})
	if err != nil || got.Async != nil || !strings.Contains(got.Output.Message, "more") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadCommandsOptions(t *testing.T) {
	for _, o := range []CommandsOptions{
		{Project: "relative"}, {EnvFile: "env.sh"}, {URLs: []string{"hooks.example.com"}}, {URLs: []string{"ftp://x/"}}, {URLs: []string{"https:///x"}}, {URLs: []string{"https://u@x/"}},
	} {
		if c, err := NewCommands(&o); !errors.Is(err, &Error{}) {
			t.Errorf("%+v: %v, %v", o, c, err)
		}
	}
	c, err := NewCommands(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(context.Background(), &Definition{Event: Stop, Func: func(context.Context, Input) (*Output, error) { return nil, nil }}, &Input{}); err == nil {
		t.Error("it runs a function")
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(context.Background(), &Definition{Event: Stop, Command: "true", Sandbox: sandboxOff}, &Input{Event: Stop, CWD: t.TempDir()}); err == nil {
		t.Error("it runs a command after its end")
	}
}
