//go:build unix

package vendoragent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hostileVendor is a vendor whose output a test chooses.
type hostileVendor func(ctx context.Context, s vendor.Sink) (vendor.End, error)

func (hostileVendor) Name() string { return "wild" }
func (hostileVendor) Command(vendor.Turn) vendor.Command {
	return vendor.Command{Args: []string{"wild"}}
}
func (hostileVendor) Transcript(string, string) string { return "" }
func (w hostileVendor) Run(ctx context.Context, t vendor.Turn, _ vendor.Process, s vendor.Sink) (vendor.End, error) {
	if err := s.SessionStarted(t.Session); err != nil {
		return vendor.End{}, err
	}
	return w(ctx, s)
}

// inertProcess is a process that ends when it is killed, or, unless it stays, when its input is closed.
type inertProcess struct {
	stays bool
	gone  chan struct{}
	once  *sync.Once
}

func (h inertProcess) end()                        { h.once.Do(func() { close(h.gone) }) }
func (h inertProcess) Stdin() io.WriteCloser       { return h }
func (h inertProcess) Stdout() io.Reader           { return strings.NewReader("") }
func (h inertProcess) Stderr() string              { return "" }
func (h inertProcess) Write(b []byte) (int, error) { return len(b), nil }
func (h inertProcess) Kill(context.Context) error  { h.end(); return nil }

func (h inertProcess) Close() error {
	if !h.stays {
		h.end()
	}
	return nil
}

func (h inertProcess) Wait(ctx context.Context) (vendoragent.Exit, error) {
	select {
	case <-h.gone:
		return vendoragent.Exit{}, nil
	case <-ctx.Done():
		return vendoragent.Exit{}, ctx.Err()
	}
}

// vendorAgentOf returns a vendor agent for a hostile vendor.
func vendorAgentOf(t testing.TB, w hostileVendor, o agent.Options, stays bool) (*vendorEnv, *testAgent, *[]inertProcess) {
	t.Helper()
	s, started := newVendorEnv(t), &[]inertProcess{}
	s.options.Vendor, s.options.Ready = w, nil
	s.options.Start = func(context.Context, vendoragent.Spec) (vendoragent.Process, error) {
		h := inertProcess{stays: stays, gone: make(chan struct{}), once: &sync.Once{}}
		*started = append(*started, h)
		return h, nil
	}
	return s, s.agent("one", o), started
}

func text(s string) transcript.Item {
	return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: s}}}
}

func use(id, name, input string) transcript.Item {
	return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}}}
}

func result(id, text string, isError bool) transcript.Item {
	return transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{
		UseID: id, IsError: isError, Content: []transcript.Part{transcript.Text{Text: text}},
	}}}
}

func bash(id, line string) vendor.Permission {
	in, _ := json.Marshal(map[string]string{"command": line})
	return vendor.Permission{Use: id, Tool: "Bash", Input: in}
}

var yes = answering(approval.Answer{Decision: approval.Allow, Actor: "ann"})

// TestProtocolViolations lists violations of the protocol by vendors, and the results of the turn.
func TestProtocolViolations(t *testing.T) {
	hello, asked, reported := `{"command":"hello"}`, make(chan struct{}), make(chan struct{})
	for _, c := range []struct {
		name   string
		o      agent.Options
		w      hostileVendor
		reason event.Reason
		want   string // in the failure, the notices, or the results
	}{
		{"it asks, and does not wait for the no", agent.Options{Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
			close(asked)
			<-reported
			return approval.Answer{Decision: approval.Deny}, nil
		}}}, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", hello))
			go func() { _, _ = s.Permit(ctx, bash("a", "hello")) }()
			<-asked
			err = errors.Join(err, s.Item(result("a", "done", false)))
			close(reported)
			<-ctx.Done()
			return vendor.End{}, errors.Join(err, context.Cause(ctx))
		}, event.ReasonFailed, "without asking"},
		{"it asks about another tool than it announced", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Read", `{"file_path":"/work/a"}`))
			a, perr := s.Permit(ctx, bash("a", "hello"))
			err = errors.Join(err, perr, s.Item(result("a", fmt.Sprint(a.Allow, " ", a.Message), true)))
			return vendor.End{Text: "x"}, err
		}, event.ReasonCompleted, "false not allowed: the tool use was announced as a call of Read"},
		{"it asks about another command than it announced", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", hello))
			a, perr := s.Permit(ctx, bash("a", "rm -rf /"))
			err = errors.Join(err, perr, s.Item(result("a", string(a.Input), false)))
			return vendor.End{Text: "x"}, err
		}, event.ReasonCompleted, hello},
		{"it adds what is its own to what it asks about", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", hello))
			p := bash("a", "hello")
			p.Input = json.RawMessage(`{"command":"hello","timeout":5}`)
			a, perr := s.Permit(ctx, p)
			err = errors.Join(err, perr, s.Item(result("a", fmt.Sprint(a.Allow, " ", len(a.Input)), false)))
			return vendor.End{Text: "x"}, err
		}, event.ReasonCompleted, "true 0"},
		{"it asks twice about a use", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", hello))
			a, e1 := s.Permit(ctx, bash("a", "hello"))
			b, e2 := s.Permit(ctx, bash("a", "hello"))
			err = errors.Join(err, e1, e2, s.Item(result("a", fmt.Sprint(a.Allow, b.Allow), false)))
			c, e3 := s.Permit(ctx, bash("a", "hello")) // and after its result
			return vendor.End{Text: "x " + c.Message}, errors.Join(err, e3)
		}, event.ReasonCompleted, "true true"},
		{"results of nothing, and twice", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := errors.Join(s.Item(result("unknown", "x", false)), s.Item(use("a", "Bash", hello)))
			_, perr := s.Permit(ctx, bash("a", "hello"))
			return vendor.End{Text: "x"}, errors.Join(err, perr, s.Item(result("a", "first", false)), s.Item(result("a", "second", false)))
		}, event.ReasonCompleted, "first"},
		{"a use that it forgets", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, s.Item(use("a", "Bash", hello))
		}, event.ReasonCompleted, "not run: the agent ended its turn without a result"},
		{"a use without an id", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, s.Item(use("", "Bash", hello))
		}, event.ReasonFailed, "without an id"},
		{"a use twice", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, errors.Join(s.Item(use("a", "Bash", hello)), s.Item(use("a", "Bash", hello)))
		}, event.ReasonFailed, "twice"},
		{"a use of a tool without a name", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, s.Item(use("a", "", hello))
		}, event.ReasonCompleted, ""},
		{"arguments that are none", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", `[1]`))
			a, perr := s.Permit(ctx, vendor.Permission{Use: "a", Tool: "Bash", Input: json.RawMessage(`[1]`)})
			return vendor.End{Text: "x"}, errors.Join(err, perr, s.Item(result("a", fmt.Sprint(a.Allow), !a.Allow)))
		}, event.ReasonCompleted, ""},
		{"a panic", yes, func(context.Context, vendor.Sink) (vendor.End, error) { panic("ouch") }, event.ReasonFailed, "ouch"},
		{"a flood of notices", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			var err error
			for i := range 100_000 {
				err = errors.Join(err, s.Notice(fmt.Sprint("strange ", i)))
			}
			return vendor.End{Text: "x"}, err
		}, event.ReasonCompleted, "more notices were omitted"},
		{"an invalid name", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, s.SessionStarted("a\nb")
		}, event.ReasonFailed, "invalid session name"},
		{"a name without an end", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, s.SessionStarted(strings.Repeat("x", 1<<20))
		}, event.ReasonFailed, "invalid session name"},
		{"text that is no UTF-8", yes, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Text: "x"}, errors.Join(s.Delta(vendor.Delta{Text: "a\xff"}), s.Item(text("a\xff\x00b")))
		}, event.ReasonCompleted, ""},
		{"arguments that are no UTF-8", yes, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
			err := s.Item(use("a", "Bash", "{\"command\":\"a\xff\"}"))
			_, perr := s.Permit(ctx, vendor.Permission{Use: "a", Tool: "Bash", Input: json.RawMessage("{\"command\":\"a\xff\"}")})
			return vendor.End{Text: "x"}, errors.Join(err, perr, s.Item(result("a", "x\xff", false)))
		}, event.ReasonCompleted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a, _ := vendorAgentOf(t, c.w, c.o, false)
			got := a.turn(t, "go")
			if got.err != nil || got.res.Reason != c.reason {
				t.Fatalf("%v, %+v", got.err, got.res)
			}
			output := got.notices() + "\n" + results(t, a)
			if got.res.Err != nil {
				output += got.res.Err.Error()
			}
			if !strings.Contains(output, c.want) {
				t.Errorf("%q is not in %.2000s", c.want, output)
			}
			if n := strings.Count(got.notices(), "\n"); n > 110 {
				t.Errorf("%d notices", n)
			}
			if err := transcript.Validate(a.Snapshot().Items); err != nil {
				t.Error(err)
			}
			if log := s.recordWords("one"); !strings.HasSuffix(log, "closed:"+string(c.reason)) {
				t.Errorf("the log has %s", log)
			}
		})
	}
}

// A vendor that sends nothing is ended, both before its first output and after.
func TestSilence(t *testing.T) {
	for name, say := range map[string]func(s vendor.Sink) error{
		"from the beginning": func(vendor.Sink) error { return nil },
		"after a piece":      func(s vendor.Sink) error { return s.Delta(vendor.Delta{Text: "well"}) },
		"after an item":      func(s vendor.Sink) error { return s.Item(text("well")) },
		"after a use":        func(s vendor.Sink) error { return s.Item(use("a", "Bash", `{"command":"x"}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := vendorAgentOf(t, func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				err := say(s)
				<-ctx.Done()
				return vendor.End{}, errors.Join(err, context.Cause(ctx))
			}, yes, false)
			s.options.Silence = 50 * time.Millisecond
			got := s.agent("two", yes).turn(t, "go")
			if got.res.Reason != event.ReasonFailed || !strings.Contains(got.res.Err.Error(), "50ms") {
				t.Errorf("%+v", got.res)
			}
		})
	}
}

// Token counts and cost of a vendor are never negative and always finite.
func TestInvalidNumbers(t *testing.T) {
	for _, end := range []vendor.End{
		{Text: "x", Usage: transcript.Usage{Input: math.MinInt64, Output: -5, CacheRead: math.MaxInt64}, Cost: -7},
		{Text: "x", Usage: transcript.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, Cost: 0},
		{Text: "x"},
	} {
		_, a, _ := vendorAgentOf(t, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			it := text("x")
			u := end.Usage
			it.Usage = &u
			return end, s.Item(it)
		}, yes, false)
		for range 3 {
			got := a.turn(t, "go")
			u := got.res.Usage
			if got.res.Reason != event.ReasonCompleted || got.res.CostUSD < 0 || min(u.Input, u.Output, u.CacheRead) < 0 || max(u.Input, u.Output, u.CacheRead) > 1<<43 {
				t.Errorf("%+v", got.res)
			}
		}
	}
}

// The cost of a failed turn counts against the budget.
func TestFailedTurnCost(t *testing.T) {
	for name, say := range map[string]func(vendor.Sink) error{
		"nothing": func(vendor.Sink) error { return nil },
		"a text":  func(s vendor.Sink) error { return s.Item(text("well")) },
		"a piece": func(s vendor.Sink) error { return s.Delta(vendor.Delta{Text: "well"}) },
	} {
		_, a, _ := vendorAgentOf(t, func(_ context.Context, s vendor.Sink) (vendor.End, error) {
			return vendor.End{Failure: "no credit", Cost: 2.5, Usage: transcript.Usage{Input: 70}}, say(s)
		}, yes, false)
		if r := a.turn(t, "go").res; r.Reason != event.ReasonFailed || r.CostUSD != 2.5 || r.Usage.Input != 70 {
			t.Errorf("after %s: %+v", name, r)
		}
	}
}

// A turn can be interrupted in every state, and nothing runs afterwards.
func TestInterruptInEveryState(t *testing.T) {
	block := func(ctx context.Context) (vendor.End, error) {
		<-ctx.Done()
		return vendor.End{}, context.Cause(ctx)
	}
	for _, c := range []struct {
		name string
		w    func(reached func()) hostileVendor
		o    func(reached func()) agent.Options
	}{
		{"before any output", func(reached func()) hostileVendor {
			return func(ctx context.Context, _ vendor.Sink) (vendor.End, error) { reached(); return block(ctx) }
		}, nil},
		{"in the middle of a text", func(reached func()) hostileVendor {
			return func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				_ = s.Delta(vendor.Delta{Text: "well"})
				reached()
				return block(ctx)
			}
		}, nil},
		{"after an item", func(reached func()) hostileVendor {
			return func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				_ = s.Item(text("well"))
				reached()
				return block(ctx)
			}
		}, nil},
		{"while a person is asked", func(func()) hostileVendor {
			return func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				_ = s.Item(use("a", "Bash", `{"command":"x"}`))
				_, _ = s.Permit(ctx, bash("a", "x"))
				return block(ctx)
			}
		}, func(reached func()) agent.Options {
			return agent.Options{Permissions: agent.Permissions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
				reached()
				<-ctx.Done()
				return approval.Answer{}, ctx.Err()
			}}}
		}},
		{"while a tool runs", func(reached func()) hostileVendor {
			return func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				_ = s.Item(use("a", "Bash", `{"command":"x"}`))
				_, _ = s.Permit(ctx, bash("a", "x"))
				reached()
				return block(ctx)
			}
		}, nil},
		{"while a sub-agent's request waits for approval", func(reached func()) hostileVendor {
			return func(ctx context.Context, s vendor.Sink) (vendor.End, error) {
				_ = s.Item(use("a", "Task", `{}`))
				_, _ = s.Permit(ctx, vendor.Permission{Use: "a", Tool: "Task"})
				go func() {
					_, _ = s.Permit(ctx, vendor.Permission{Use: "below", Parent: "a", Tool: "Bash", Input: json.RawMessage(`{"command":"y"}`)})
				}()
				reached()
				return block(ctx)
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			o := yes
			if c.o != nil {
				o = c.o(stop)
			}
			s, a, started := vendorAgentOf(t, c.w(stop), o, true)
			if got := a.turnIn(ctx, "go"); got.err != nil || got.res.Reason != event.ReasonInterrupted {
				t.Errorf("%v, %+v", got.err, got.res)
			}
			a.close()
			for _, h := range *started {
				select {
				case <-h.gone:
				default:
					t.Error("a process still runs")
				}
			}
			if err := transcript.Validate(a.Snapshot().Items); err != nil {
				t.Error(err)
			}
			if log := s.recordWords("one"); !strings.HasSuffix(log, "closed:interrupted") {
				t.Errorf("the log has %s", log)
			}
		})
	}
}
