package hook

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// runFunc is a Runner.
type runFunc func(ctx context.Context, d *Definition, in *Input) (RunResult, error)

func (f runFunc) Run(ctx context.Context, d *Definition, in *Input) (RunResult, error) {
	return f(ctx, d, in)
}

// says runs commands that each say their own text.
func says(_ context.Context, d *Definition, _ *Input) (RunResult, error) {
	return RunResult{Output: &Output{Message: d.Command + d.URL}}, nil
}

func quiet(context.Context, Input) (*Output, error) { return nil, nil }

// returns is a function that always says the same.
func returns(o *Output) function {
	return func(context.Context, Input) (*Output, error) { return o, nil }
}

// registryOf holds definitions, and runs commands with run.
func registryOf(t *testing.T, run runFunc, list ...Definition) *Registry {
	t.Helper()
	r := New(&Options{Runner: run})
	if err := r.Register(list...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// texts are the messages of outputs.
func texts(out *Outcome) []string {
	list := []string{}
	for _, o := range out.Outputs {
		list = append(list, o.Message)
	}
	return list
}

func TestRegisterRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		d    Definition
		want string // in the error
		hint string
	}{
		"nothing to run":   {Definition{Event: Stop}, "nothing to run", "a function, a command or a URL"},
		"blank command":    {Definition{Event: Stop, Command: " \n"}, "nothing to run", ""},
		"two at once":      {Definition{Event: Stop, Func: quiet, Command: "true"}, "function and a command", "separate hooks"},
		"three at once":    {Definition{Event: Stop, Func: quiet, Command: "true", URL: "http://localhost"}, "a function and a command and a http", ""},
		"unknown event":    {Definition{Func: quiet}, `unknown event ""`, ""},
		"misspelled event": {Definition{Event: "PreTolUse", Func: quiet}, `unknown event "PreTolUse"`, "did you mean PreToolUse?"},
		"absent event":     {Definition{Event: "MessageDisplay", Func: quiet}, "not supported", "remove the hook"},
		"spelling against dialect": {
			Definition{Event: "preToolUse", Dialect: dialectClaude, Func: quiet}, `the dialect "claude"`, "write PreToolUse",
		},
		"dialect":                {Definition{Event: Stop, Dialect: "codex", Func: quiet}, `unknown dialect "codex"`, ""},
		"event the seed has not": {Definition{Event: PostToolBatch, Dialect: dialectSeed, Func: quiet}, "the Open Agent SDK has no event PostToolBatch", ""},
		"bad expression":         {Definition{Event: PreToolUse, Matcher: "Bash(", Func: quiet}, "invalid matcher", ""},
		"matcher without field":  {Definition{Event: Stop, Matcher: "Bash", Func: quiet}, "has no effect", "remove the matcher"},
		"bad condition":          {Definition{Event: PreToolUse, If: "Bash(", Func: quiet}, "Bash(", ""},
		"condition elsewhere":    {Definition{Event: Stop, If: "Bash(ls:*)", Func: quiet}, "If: Stop is not a tool event", "remove it"},
		"args of a function":     {Definition{Event: Stop, Func: quiet, Args: []string{"a"}}, "Args: it has no effect on a function hook", "remove it"},
		"access of a URL":        {Definition{Event: Stop, URL: "http://localhost", Sandbox: sandboxRead}, "Sandbox: it has no effect on a http hook", ""},
		"headers of a command":   {Definition{Event: Stop, Command: "true", Headers: map[string]string{"A": "b"}}, "Headers: it has no effect on a command hook", ""},
		"variables of function":  {Definition{Event: Stop, Func: quiet, Env: []string{"HOME"}}, "Env: it has no effect on a function hook", ""},
		"access":                 {Definition{Event: Stop, Command: "true", Sandbox: "all"}, `unknown sandbox value "all"`, "read, write or off"},
		"negative time":          {Definition{Event: Stop, Func: quiet, Timeout: -1}, "invalid timeout", "greater than 0"},
		"way of failing":         {Definition{Event: PreToolUse, Func: quiet, OnFailure: "panic"}, `unknown onFailure value "panic"`, ""},
		"failure of async":       {Definition{Event: PreToolUse, Func: quiet, Async: true, OnFailure: failBlock}, "the failure of an async hook", ""},
		"failure not blockable":  {Definition{Event: SessionStart, Func: quiet, OnFailure: failBlock}, "cannot be blocked", ""},
		"failure of stop":        {Definition{Event: Stop, Func: quiet, OnFailure: failBlock}, "keep the agent going", `write "continue"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := registryOf(t, says)
			err := r.Register(tt.d)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, &Error{}) {
				t.Fatalf("got %v, want a *hook.Error", err)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(e.Hint(), tt.hint) {
				t.Errorf("got %q (hint %q), want %q (hint %q)", err, e.Hint(), tt.want, tt.hint)
			}
			if len(r.Hooks()) != 0 {
				t.Errorf("it is there: %+v", r.Hooks())
			}
		})
	}
}

func TestRegisterAtomic(t *testing.T) {
	r := registryOf(t, says, Definition{Event: Stop, Func: quiet})
	err := r.Register(Definition{Event: PreToolUse, Func: quiet}, Definition{Event: PreToolUse, Func: quiet, Sandbox: sandboxRead})
	if err == nil || !strings.HasPrefix(err.Error(), "[1].Sandbox: ") {
		t.Errorf("got %v, want the place of the second", err)
	}
	if r.Has(PreToolUse) || len(r.Hooks()) != 1 {
		t.Errorf("the first of a bad list is there: %+v", r.Hooks())
	}
}

func TestRegisterNeedsRunner(t *testing.T) {
	for _, d := range []Definition{{Event: Stop, Command: "true"}, {Event: Stop, URL: "http://localhost/"}} {
		if err := New(nil).Register(d); err == nil || !strings.Contains(err.Error(), "no Runner for "+d.Type()) {
			t.Errorf("%s: got %v", d.Type(), err)
		}
	}
}

func TestHooksDefaults(t *testing.T) {
	origin := policy.Origin{File: "settings.json", Line: 3}
	r := registryOf(t, says,
		Definition{Event: "preToolUse", Command: "a", Digest: "d", Origin: origin},
		Definition{Event: PreToolUse, Command: "b"},
		Definition{Event: UserPromptSubmit, URL: "http://localhost/x"},
		Definition{Event: SessionEnd, Command: "c"},
		Definition{Event: SessionEnd, Command: "d", Timeout: time.Hour},
		Definition{Event: Stop, Func: quiet},
	)
	want := []struct {
		name    string
		event   Event
		dialect string
		timeout time.Duration
		access  string
	}{
		{"a", PreToolUse, dialectSeed, 30 * time.Second, sandboxRead},
		{"b", PreToolUse, dialectClaude, 10 * time.Minute, sandboxRead},
		{"http://localhost/x", UserPromptSubmit, dialectClaude, 30 * time.Second, ""},
		{"c", SessionEnd, dialectClaude, 1500 * time.Millisecond, sandboxRead},
		{"d", SessionEnd, dialectClaude, time.Minute, sandboxRead},
		{"hook.quiet", Stop, dialectClaude, 30 * time.Second, ""},
	}
	got := r.Hooks()
	if len(got) != len(want) {
		t.Fatalf("got %d", len(got))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.name || g.Event != w.event || g.Dialect != w.dialect || g.Timeout != w.timeout || g.Sandbox != w.access {
			t.Errorf("%d: got %+v, want %+v", i, g, w)
		}
	}
	if got[0].Digest != "d" || got[0].Origin != origin {
		t.Errorf("origin and digest are lost: %+v", got[0])
	}
}

func TestHas(t *testing.T) {
	var none *Registry
	if none.Has(Stop) || none.AsyncOutcomes("") != nil || none.Fire(t.Context(), Input{Event: Stop}).Event != Stop {
		t.Error("a nil registry has hooks")
	}
	r := registryOf(t, says, Definition{Event: PreToolUse, Func: quiet}, Definition{Event: SessionStart, Func: quiet})
	for e, want := range map[Event]bool{PreToolUse: true, SessionStart: true, Stop: false} {
		if r.Has(e) != want {
			t.Errorf("%s: got %v", e, !want)
		}
	}
}

func TestZeroRegistry(t *testing.T) {
	var r Registry
	if err := r.HandleFunc(Stop, "", returns(&Output{Message: "x"})); err != nil {
		t.Fatal(err)
	}
	if out := r.Fire(t.Context(), Input{Event: Stop}); len(out.Outputs) != 1 {
		t.Errorf("got %+v", out)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnce(t *testing.T) {
	r := registryOf(t, says,
		Definition{Event: PreToolUse, Matcher: "Edit", Command: "once", Once: true},
		Definition{Event: PreToolUse, Func: returns(&Output{Message: "always"})},
	)
	for i, tt := range []struct {
		tool string
		want string
	}{{"Bash", "always"}, {"Edit", "once always"}, {"Edit", "always"}} {
		out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: tt.tool}})
		if got := strings.Join(texts(&out), " "); got != tt.want {
			t.Errorf("%d: got %q, want %q", i, got, tt.want)
		}
	}
	if len(r.Hooks()) != 1 {
		t.Errorf("it is still there: %+v", r.Hooks())
	}
}

func TestOnceAtOnce(t *testing.T) {
	r := registryOf(t, says, Definition{Event: Stop, Func: returns(&Output{Message: "x"}), Once: true})
	var wg sync.WaitGroup
	ran := make(chan int, 50)
	for range cap(ran) {
		wg.Go(func() {
			out := r.Fire(t.Context(), Input{Event: Stop})
			ran <- len(out.Outputs)
		})
	}
	wg.Wait()
	close(ran)
	sum := 0
	for n := range ran {
		sum += n
	}
	if sum != 1 {
		t.Errorf("it ran %d times", sum)
	}
}

func TestRegisterWhileFiring(t *testing.T) {
	r := registryOf(t, says)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := r.Register(Definition{Event: Stop, Func: returns(&Output{Message: "x"})}, Definition{Event: Stop, Command: "c"}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		wg.Go(func() { r.Fire(t.Context(), Input{Event: Stop}) })
	}
	wg.Wait()
	out := r.Fire(t.Context(), Input{Event: Stop})
	if len(r.Hooks()) != 100 || len(out.Outputs) != 51 {
		t.Errorf("%d hooks, %d outputs: want 100, and 51 as the commands are the same", len(r.Hooks()), len(out.Outputs))
	}
}

type closing struct {
	runFunc
	closed *int
}

func (c closing) Close() error { *c.closed++; return errors.New("left something") }

func TestClose(t *testing.T) {
	n := 0
	r := New(&Options{Runner: closing{says, &n}})
	if err := r.Register(Definition{Event: PreToolUse, Func: returns(&Output{Message: "x"})}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil {
		t.Error("the runner's error is lost")
	}
	if err := r.Close(); err != nil || n != 1 {
		t.Errorf("closed %d times: %v", n, err)
	}
	out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
	if len(out.Outputs) != 0 || out.Block == nil || !strings.Contains(out.Block.Text, "closed") {
		t.Errorf("a guard of a closed registry: %+v", out)
	}
}

// When Close has returned, no command runs, and none is started.
func TestCloseWhileFiring(t *testing.T) {
	for range 20 {
		var running atomic.Int32
		began := make(chan struct{}, 100)
		r := New(&Options{Runner: runFunc(func(ctx context.Context, _ *Definition, _ *Input) (RunResult, error) {
			running.Add(1)
			defer running.Add(-1)
			began <- struct{}{}
			<-ctx.Done()
			return RunResult{}, ctx.Err()
		})})
		err := r.Register(Definition{Event: Stop, Command: "a"}, Definition{Event: Stop, Command: "b"}, Definition{Event: Stop, Command: "c", Async: true})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { r.Fire(t.Context(), Input{Event: Stop}) })
		}
		<-began
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d run after Close", n)
		}
		wg.Wait()
		r.Fire(t.Context(), Input{Event: Stop})
		if n := running.Load(); n != 0 {
			t.Errorf("%d were started after Close", n)
		}
	}
}
