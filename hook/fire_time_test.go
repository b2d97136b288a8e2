package hook

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test by a clock of its own, until functions that were left behind
// have ended as well.
func bubble(t *testing.T, test func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		test(t)
		time.Sleep(2 * time.Hour)
	})
}

// waits is a function that heeds its context.
func waits(d time.Duration, o *Output) function {
	return func(ctx context.Context, _ Input) (*Output, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(d):
			return o, nil
		}
	}
}

// ignoresContext is a function that does not.
func ignoresContext(d time.Duration, o *Output) function {
	return func(context.Context, Input) (*Output, error) {
		time.Sleep(d)
		return o, nil
	}
}

// waitRun is a runner whose commands take as long as they are called.
func waitRun(ctx context.Context, d *Definition, _ *Input) (RunResult, error) {
	long, err := time.ParseDuration(strings.TrimLeft(d.Command, "abc"))
	if err != nil {
		return RunResult{}, err
	}
	select {
	case <-ctx.Done():
		return RunResult{}, ctx.Err()
	case <-time.After(long):
		return RunResult{Output: &Output{Message: d.Command}}, nil
	}
}

func TestTimeouts(t *testing.T) {
	ms := time.Millisecond
	said := func(text string) *Output { return &Output{Message: text} }
	for name, tt := range map[string]struct {
		event Event
		list  []Definition
		want  string // messages
		took  time.Duration
		block bool
	}{
		"the others go on": {PostToolUse, []Definition{
			{Func: waits(100*ms, said("slow")), Timeout: ms}, {Func: returns(said("fast"))},
		}, "fast", ms, false},
		"deaf functions are left behind": {PostToolUse, []Definition{
			{Func: ignoresContext(time.Hour, said("1")), Timeout: ms}, {Func: returns(said("2"))}, {Func: ignoresContext(time.Hour, said("3")), Timeout: ms}, {Func: returns(said("4"))},
		}, "2 4", 2 * ms, false},
		"a long one before a short one": {PostToolUse, []Definition{
			{Func: waits(10*time.Second, said("1"))}, {Func: ignoresContext(time.Hour, said("2")), Timeout: ms}, {Func: waits(20*ms, said("3"))},
		}, "1 3", 10*time.Second + 21*ms, false},
		"just in time": {PostToolUse, []Definition{{Func: ignoresContext(99*ms, said("1")), Timeout: 100 * ms}}, "1", 99 * ms, false},
		"the default":  {PostToolUse, []Definition{{Func: ignoresContext(time.Hour, said("1"))}}, "", 30 * time.Second, false},
		"a guard blocks": {PreToolUse, []Definition{
			{Func: waits(5*time.Second, said("1")), Timeout: 10 * ms},
		}, "", 10 * ms, true},
		"a guard that may fail": {PreToolUse, []Definition{
			{Func: waits(5*time.Second, said("1")), Timeout: 10 * ms, OnFailure: failContinue},
		}, "", 10 * ms, false},
		"a command": {Stop, []Definition{{Command: "1h", Timeout: ms}, {Command: "2ms"}}, "2ms", 2 * ms, false},
		"commands side by side": {Stop, []Definition{
			{Command: "300ms"}, {Command: "100ms"}, {Command: "200ms"},
		}, "300ms 100ms 200ms", 300 * ms, false},
		"a function between": {Stop, []Definition{
			{Command: "300ms"}, {Func: waits(50*ms, said("f"))}, {Command: "200ms"},
		}, "300ms f 200ms", 550 * ms, false},
		"one after another where they rewrite": {PostToolUse, []Definition{
			{Command: "300ms"}, {Command: "100ms"},
		}, "300ms 100ms", 400 * ms, false},
		"Claude Code's default": {PreToolUse, []Definition{{Command: "1h"}}, "", 10 * time.Minute, false},
		"the seed's default":    {PreToolUse, []Definition{{Command: "1h", Dialect: dialectSeed}}, "", 30 * time.Second, true},
		"the end's time is shared": {SessionEnd, []Definition{
			{Command: "1s"}, {Func: quiet}, {Command: "900ms"}, {Command: "400ms"},
		}, "1s 400ms", 1500 * ms, false},
		"the end's time is raised": {SessionEnd, []Definition{
			{Command: "5s", Timeout: 10 * time.Second}, {Command: "7s"}, {Command: "11s"},
		}, "5s 7s", 10 * time.Second, false},
		"the end's time is bounded": {SessionEnd, []Definition{{Command: "1h", Timeout: 2 * time.Hour}}, "", time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				for i := range tt.list {
					tt.list[i].Event = tt.event
				}
				r := registryOf(t, waitRun, tt.list...)
				start := time.Now()
				out := r.Fire(t.Context(), Input{Event: tt.event, Tool: ToolCall{Name: "Bash"}, Reason: "completed"})
				if got := strings.Join(texts(&out), " "); got != tt.want {
					t.Errorf("said %q, want %q", got, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if (out.Block != nil) != tt.block {
					t.Errorf("block %v, want %v", out.Block, tt.block)
				}
			})
		})
	}
}

func TestFailures(t *testing.T) {
	for name, fn := range map[string]function{
		"timed out after 1ms":    ignoresContext(time.Second, &Output{Block: true, Reason: "too late"}),
		"panicked: oh":           func(context.Context, Input) (*Output, error) { panic("oh") },
		"it ended its goroutine": func(context.Context, Input) (*Output, error) { runtime.Goexit(); return nil, nil },
		"no such table": func(context.Context, Input) (*Output, error) {
			return &Output{Message: "x"}, errors.New("no such table")
		},
		`unknown decision "maybe"`:          returns(&Output{Decision: "maybe"}),
		`unknown permissionDecision "alow"`: returns(&Output{Permission: "alow"}),
		"the new input is not a JSON":       returns(&Output{Input: []byte(`[1]`)}),
		"the new result is no":              returns(&Output{ToolOutput: []byte(`{`)}),
		"neither rules nor a mode":          returns(&Output{Updates: []PermissionUpdate{{}}}),
		"behavior \"ask\"":                  returns(&Output{Updates: []PermissionUpdate{{Rules: []string{"Bash"}, Behavior: "ask"}}}),
		"not both":                          returns(&Output{Updates: []PermissionUpdate{{Rules: []string{"Bash"}, Mode: "plan"}}}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := registryOf(t, says,
					Definition{Event: PreToolUse, Name: "closed", Timeout: time.Millisecond, Func: fn},
					Definition{Event: PreToolUse, Name: "open", Timeout: time.Millisecond, Func: fn, OnFailure: failContinue},
					Definition{Event: PreToolUse, Func: returns(&Output{Message: "after"})},
				)
				out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash", UseID: "u1"}})
				if got := strings.Join(texts(&out), " "); got != "after" {
					t.Errorf("said %q, want only the one after", got)
				}
				if b := out.Block; b == nil || b.Hook != "closed" || !strings.Contains(b.Text, name) || !strings.Contains(b.Text, `unless its onFailure is "continue"`) {
					t.Errorf("block %+v", b)
				}
				if n := out.Notices; len(n) != 2 || n[0].Hook != "open" || !strings.Contains(n[0].Text, name) {
					t.Errorf("notices %+v", n)
				}
				runs := out.Ran.Hooks
				if len(runs) != 3 || !strings.Contains(runs[0].Error, name) || runs[0].Effect != "block" || !strings.Contains(runs[1].Error, name) || runs[1].Effect != "" {
					t.Errorf("log %+v", runs)
				}
			})
		})
	}
}

func TestFailuresOfCommands(t *testing.T) {
	fails := func(context.Context, *Definition, *Input) (RunResult, error) {
		code := 1
		return RunResult{Exit: &code, Notice: "the sandbox refused it"}, errors.New("exit status 1")
	}
	panics := func(context.Context, *Definition, *Input) (RunResult, error) { panic("oh") }
	for name, tt := range map[string]struct {
		run    runFunc
		strict bool
		d      Definition
		block  bool
	}{
		"Claude's go on":        {fails, false, Definition{Event: PreToolUse}, false},
		"strict":                {fails, true, Definition{Event: PreToolUse}, true},
		"strict, to go on":      {fails, true, Definition{Event: PreToolUse, OnFailure: failContinue}, false},
		"Claude's, to block":    {fails, false, Definition{Event: PreToolUse, OnFailure: failBlock}, true},
		"the seed's block":      {fails, false, Definition{Event: PreToolUse, Dialect: dialectSeed}, true},
		"prompt, strict":        {fails, true, Definition{Event: UserPromptSubmit}, true},
		"request, strict":       {fails, true, Definition{Event: PermissionRequest}, true},
		"request of the seed":   {fails, false, Definition{Event: PermissionRequest, Dialect: dialectSeed}, true},
		"no guard, strict":      {fails, true, Definition{Event: PostToolUse}, false},
		"no guard, seed":        {fails, true, Definition{Event: Stop, Dialect: dialectSeed}, false},
		"no guard, to block":    {fails, true, Definition{Event: PostToolUse, OnFailure: failBlock}, true},
		"panics of the runner":  {panics, true, Definition{Event: PreToolUse}, true},
		"panics side by side":   {panics, true, Definition{Event: UserPromptSubmit}, true},
		"async counts for none": {fails, true, Definition{Event: PreToolUse, Async: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.d.Command = "x"
			r := New(&Options{Runner: tt.run, Strict: tt.strict})
			if err := r.Register(tt.d, Definition{Event: tt.d.Event, Command: "y", OnFailure: failContinue}); err != nil {
				t.Fatal(err)
			}
			out := r.Fire(t.Context(), Input{Event: tt.d.Event, Tool: ToolCall{Name: "Bash"}})
			if (out.Block != nil) != tt.block || len(out.Outputs) != 0 || len(out.Notices) == 0 {
				t.Errorf("%+v", out)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, d := range map[string]Definition{
		"function": {Event: PreToolUse, Func: ignoresContext(time.Hour, &Output{Message: "x"})},
		"command":  {Event: PreToolUse, Command: "1h", OnFailure: failBlock},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := false
				after := Definition{Event: PreToolUse, Func: func(context.Context, Input) (*Output, error) { ran = true; return nil, nil }}
				r := registryOf(t, waitRun, d, after)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				out := r.Fire(ctx, Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
				if time.Since(start) != time.Second || ran || out.Block == nil || len(out.Notices) != 0 {
					t.Errorf("after %v: ran %v, %+v", time.Since(start), ran, out)
				}
				if n := len(out.Ran.Hooks); n != 2 {
					t.Errorf("%d in the log", n)
				}
			})
		})
	}
}

func TestCloseEndsHooks(t *testing.T) {
	for name, d := range map[string]Definition{
		"function": {Event: Stop, Func: ignoresContext(time.Hour, nil)},
		"command":  {Event: Stop, Command: "1h"},
		"async":    {Event: Stop, Command: "1h", Async: true},
		"deaf":     {Event: Stop, Func: ignoresContext(time.Hour, nil), Async: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := registryOf(t, waitRun, d)
				start := time.Now()
				go r.Fire(t.Context(), Input{Event: Stop})
				synctest.Wait()
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestFunctionContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		var ends []time.Duration
		var err error
		left := make(chan error, 1)
		look := func(ctx context.Context, _ Input) (*Output, error) {
			at, _ := ctx.Deadline()
			ends = append(ends, at.Sub(start))
			return nil, ctx.Err()
		}
		r := registryOf(t, says,
			Definition{Event: Stop, Func: look, Timeout: time.Second},
			Definition{Event: Stop, Func: look, Timeout: time.Hour},
			Definition{Event: Stop, Timeout: time.Minute, Func: func(ctx context.Context, _ Input) (*Output, error) {
				<-ctx.Done()
				left <- ctx.Err()
				return nil, nil
			}},
		)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		r.Fire(ctx, Input{Event: Stop})
		if ends[0] != time.Second || ends[1] != 10*time.Minute || err != nil {
			t.Errorf("deadlines %v, %v", ends, err)
		}
		if err := <-left; !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("ended with %v after %v", err, time.Since(start))
		}
	})
}
