package hook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAsync(t *testing.T) {
	for name, d := range map[string]Definition{
		"command":  {Command: "c"},
		"function": {Func: waits(time.Minute, &Output{Context: "done", Message: "m"}), Timeout: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				run := func(ctx context.Context, _ *Definition, _ *Input) (RunResult, error) {
					out, err := waits(time.Minute, &Output{Context: "done", Message: "m"})(ctx, Input{})
					return RunResult{Output: out}, err
				}
				d.Event, d.Async, d.Name = PreToolUse, true, "slow"
				r := registryOf(t, run, d, Definition{Event: PreToolUse, Func: returns(&Output{Message: "at once"})})
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				out := r.Fire(ctx, Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
				cancel() // of the run: the hook outlives it
				if time.Since(start) != 0 || strings.Join(texts(&out), " ") != "at once" {
					t.Errorf("after %v: %+v", time.Since(start), out)
				}
				if h := out.Ran.Hooks; len(h) != 2 || h[0].Name != "slow" || h[0].Effect != "async" {
					t.Errorf("log %+v", out.Ran)
				}
				if late := r.AsyncOutcomes(""); late != nil {
					t.Errorf("early: %+v", late)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				late := r.AsyncOutcomes("")
				if len(late) != 1 || sayings(late[0].Context) != "slow: done" || sayings(late[0].Notices) != "slow: m" || late[0].Ran.Hooks[0].Millis != 60_000 {
					t.Errorf("late: %+v", late)
				}
				if again := r.AsyncOutcomes(""); again != nil {
					t.Errorf("twice: %+v", again)
				}
			})
		})
	}
}

func TestAsyncCannotDecide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := &Output{
			Block: true, Permission: "allow", Input: []byte(`{}`), Updates: []PermissionUpdate{{Mode: "plan"}}, Stop: true,
			Notification: &UserNotification{Title: "t", Body: "b"}, TerminalSequence: "\x07", Context: "c",
		}
		r := registryOf(t, says, Definition{Event: PreToolUse, Name: "h", Func: returns(all), Async: true})
		out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
		synctest.Wait()
		late := r.AsyncOutcomes("")
		if out.Block != nil || len(late) != 1 {
			t.Fatalf("%+v, late %+v", out, late)
		}
		l := late[0]
		if l.Block != nil || l.Permission != "" || l.Input != nil || l.Updates != nil || l.Stop != nil || l.Terminal != nil || l.Notifications != nil {
			t.Errorf("it decides: %+v", l)
		}
		want := ": t: b; h: async hook result ignored: a block, a permission, a new input, a change of policy, an end of the turn and a terminal sequence"
		if got := sayings(l.Notices); got != want || sayings(l.Context) != "h: c" {
			t.Errorf("got %q", got)
		}
	})
}

func TestAsyncTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := registryOf(t, waitRun,
			Definition{Event: PreToolUse, Command: "1h", Async: true, Timeout: time.Second, Dialect: dialectSeed},
			Definition{Event: PreToolUse, Func: ignoresContext(time.Hour, nil), Async: true, Timeout: 2 * time.Second},
		)
		out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
		if out.Block != nil {
			t.Errorf("blocked: %+v", out.Block)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		late := r.AsyncOutcomes("")
		if len(late) != 2 || !strings.Contains(sayings(late[0].Notices), "timed out after 1s") || !strings.Contains(sayings(late[1].Notices), "timed out after 2s") {
			t.Errorf("late: %+v", late)
		}
	})
}

// A command may itself say that it goes on.
func TestDetached(t *testing.T) {
	for name, tt := range map[string]struct {
		late    *RunResult // nil: the channel is closed
		context string
		notices string
	}{
		"answers": {&RunResult{Output: &Output{Context: "found", Block: true}}, "c: found", "c: async hook result ignored: a block"},
		"fails":   {&RunResult{Err: errors.New("exit status 1")}, "", "c: the hook failed: exit status 1"},
		"is lost": {nil, "", "c: the hook failed: it ended without a result"},
	} {
		for _, async := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ch := make(chan RunResult, 1)
					r := registryOf(t, func(context.Context, *Definition, *Input) (RunResult, error) { return RunResult{Async: ch}, nil },
						Definition{Event: PreToolUse, Command: "c", Async: async})
					out := r.Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash"}})
					synctest.Wait()
					if len(r.AsyncOutcomes("")) != 0 || out.Block != nil || out.Ran.Hooks[0].Effect != "async" {
						t.Errorf("%+v", out)
					}
					if tt.late != nil {
						ch <- *tt.late
					}
					close(ch)
					synctest.Wait()
					late := r.AsyncOutcomes("")
					if len(late) != 1 || sayings(late[0].Context) != tt.context || sayings(late[0].Notices) != tt.notices {
						t.Errorf("late: %+v", late)
					}
				})
			})
		}
	}
}

func TestAsyncPerSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := registryOf(t, says, Definition{Event: Stop, Name: "h", Func: returns(&Output{Context: "c"}), Async: true})
		for _, id := range []string{"a", "b", "a"} {
			r.Fire(t.Context(), Input{Event: Stop, SessionID: id})
		}
		synctest.Wait()
		if n := len(r.AsyncOutcomes("a")); n != 2 || len(r.AsyncOutcomes("a")) != 0 || len(r.AsyncOutcomes("b")) != 1 || len(r.AsyncOutcomes("b")) != 0 {
			t.Errorf("%d of a", n)
		}
	})
}

func TestAsyncOutcomesLimit(t *testing.T) {
	var r Registry
	for range maxAsync + 5 {
		r.storeAsync(Outcome{Event: Stop})
	}
	if n := len(r.AsyncOutcomes("")); n != maxAsync {
		t.Errorf("%d kept", n)
	}
}
