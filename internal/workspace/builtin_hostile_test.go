//go:build unix

package workspace

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A run's limit of model calls is enforced on the host and reported as the limit it was.
func TestBuiltinBudget(t *testing.T) {
	const step = "  - {text: more, tool_uses: [{tool: Bash, input: {command: 'true'}}]}\n"
	for _, tt := range []struct {
		name   string
		turns  int
		usd    float64
		reason event.Reason
	}{
		{"turns", 2, 0, event.ReasonMaxTurns},
		{"dollars", 0, 1e-6, event.ReasonBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newBuiltinEnv(t, "price: {input: 1, output: 1}\nsteps:\n"+strings.Repeat(step, 9))
			h.o.Spec.Run.Limits.MaxTurns, h.o.Spec.Run.Limits.MaxBudgetUSD = tt.turns, tt.usd
			_, res := h.run(t.Context(), h.agent(), "go", nil)
			if res.Reason != tt.reason || res.Turns > 2 || res.CostUSD <= 0 || len(res.ByModel) != 1 {
				t.Errorf("the result is %+v", res)
			}
		})
	}
}

// hostileProcess is a process that sends what a test chooses.
type hostileProcess struct {
	net.Conn
	stdin io.WriteCloser
	over  chan struct{}
}

func (p *hostileProcess) Stdin() io.WriteCloser       { return p.stdin }
func (p *hostileProcess) Stdout() io.Reader           { return strings.NewReader("") }
func (p *hostileProcess) Stderr() string              { return "" }
func (p *hostileProcess) Channel() io.ReadWriteCloser { return p.Conn }
func (p *hostileProcess) Close() error                { return p.Conn.Close() }

func (p *hostileProcess) Kill(context.Context) error { return p.Conn.Close() }

func (p *hostileProcess) Wait(ctx context.Context) (supervisor.Exit, error) {
	select {
	case <-p.over:
		return supervisor.Exit{}, nil
	case <-ctx.Done():
		return supervisor.Exit{}, ctx.Err()
	}
}

// newHostileEnv returns an environment whose process is replaced by a hostile one.
func newHostileEnv(t *testing.T, lie func(c *hostpipe.Client)) *builtinEnv {
	t.Helper()
	h := &builtinEnv{t: t, store: memory.New()}
	h.sessions = session.New(h.store, nil)
	h.o = builtinOptions{
		Sessions: h.sessions, Session: session.RestoreOptions{SessionID: "s"},
		Models: []model.Model{scriptedModel(t, "price: {input: 1, output: 1}\nsteps:\n  - text: hi\n")},
		Spec:   hostpipe.Spec{Run: runspec.Spec{Cwd: "/work"}},
		Start: func(context.Context, supervisor.Spec) (agentProcess, error) {
			inside, host := net.Pipe()
			p := &hostileProcess{Conn: host, over: make(chan struct{})}
			var in io.ReadCloser
			in, p.stdin = io.Pipe()
			go func() {
				defer close(p.over)
				_, _ = io.Copy(io.Discard, in)
				c := hostpipe.Dial(inside, nil)
				lie(c)
				_ = c.Close()
			}()
			return p, nil
		},
	}
	return h
}

// The host does not pass on false statements of a process about its usage, its session and the mode.
func TestHostileAgent(t *testing.T) {
	h := newHostileEnv(t, func(c *hostpipe.Client) {
		for _, e := range []event.Event{
			event.TurnStarted{Turn: "turn-1"},
			event.UsageUpdated{Model: "m", CostUSD: -5, Total: transcript.Usage{Input: -7}},
			event.PolicyChanged{Change: policy.Change{Mode: policy.ModeBypass}},
			event.PolicyChanged{Change: policy.Change{Mode: policy.ModePlan}},
			event.TerminalSequences{Sequences: []string{"\x1b]52;c;eA==\a"}},
			event.Result{SessionID: "another", Reason: event.ReasonCompleted, Text: "all is well", CostUSD: -5, Usage: transcript.Usage{Input: -7}, ByModel: map[string]event.ModelUsage{"m": {Calls: -1}}},
		} {
			if err := c.SendEvent(e); err != nil {
				t.Error(err)
			}
		}
	})
	a := h.agent()
	_, res := h.run(t.Context(), a, "go", func(e event.Event) {
		switch e := e.(type) {
		case event.UsageUpdated:
			if e.CostUSD != 0 || e.Total.Input != 0 {
				t.Errorf("got: %+v", e)
			}
		case event.PolicyChanged:
			if e.Change.Mode != policy.ModePlan {
				t.Errorf("got: %+v", e)
			}
		case event.TerminalSequences:
			if len(e.Sequences) > 0 {
				t.Errorf("got: %+v", e)
			}
		}
	})
	if res.SessionID != "s" || res.CostUSD != 0 || res.Usage.Input != 0 || len(res.ByModel) > 0 {
		t.Errorf("the result is %+v", res)
	}
	if a.Mode() != policy.ModePlan || h.sessions == nil {
		t.Errorf("the mode is %s", a.Mode())
	}
	h.checkLog()
}

// A process that sends too much data, in large or small messages, is cut off, and the turn reports it.
func TestBuiltinFlood(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"large": strings.Repeat("x", 16<<20), "small": "x"} {
		t.Run(name, func(t *testing.T) {
			h := newHostileEnv(t, func(c *hostpipe.Client) {
				for c.SendEvent(event.TextDelta{Text: text}) == nil {
				}
			})
			a := h.agent()
			var res *event.Result
			for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := e.(event.TextDelta); ok && res == nil {
					res = &event.Result{}
					for !a.flooded() {
						time.Sleep(time.Millisecond)
					}
				}
				if r, ok := e.(event.Result); ok {
					res = &r
				}
			}
			if res == nil || res.Reason != event.ReasonFailed || !errors.Is(res.Err, errFlood) {
				t.Errorf("the result is %+v", res)
			}
			h.checkLog()
		})
	}
}

// flooded reports whether the current turn was cut off.
func (a *builtinAgent) flooded() bool {
	a.mu.Lock()
	s := a.server
	a.mu.Unlock()
	return s == nil || errors.Is(s.Submit(context.Background(), nil), hostpipe.ErrLost)
}
