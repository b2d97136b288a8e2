package strategy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/transcript"
)

// fakeSteps is a StepFunc that records its steps. The output of agent a is a(input), unless lines has
// its outputs.
type fakeSteps struct {
	mu    sync.Mutex
	steps []Step
	lines map[string][]string
	fail  map[string]error // by path
}

func (p *fakeSteps) do(_ context.Context, s Step) (Output, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, s)
	out := Output{Text: s.Agent + "(" + s.Input + ")", Finish: s.Path, Usage: transcript.Usage{Input: 1, Output: 2}, Cost: 0.5}
	if l := p.lines[s.Agent]; len(l) > 0 {
		out.Text, p.lines[s.Agent] = l[0], l[1:]
	}
	return out, p.fail[s.Path]
}

// log returns one line per step: path, name and input.
func (p *fakeSteps) log() string {
	var b strings.Builder
	for _, s := range p.steps {
		fmt.Fprintf(&b, "%s %s %s", s.Path, s.Name, s.Input)
		if s.First {
			b.WriteString(" first")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// flowOf returns the flow of a strategy with the agents that it names.
func flowOf(t *testing.T, text string) *Flow {
	t.Helper()
	var agents []string
	for _, a := range []string{"a", "b", "c", "o"} {
		if strings.Contains(text, `"`+a+`"`) {
			agents = append(agents, `"`+a+`":{}`)
		}
	}
	s, err := Parse("x", fmt.Appendf(nil, `{"name":"n","version":"1","agents":{%s},"flow":%s}`, strings.Join(agents, ","), text))
	if err != nil {
		t.Fatal(err)
	}
	return &s.Flow
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, flow string
		lines      map[string][]string
		want       string
		log        string
	}{
		{"one agent", `"a"`, nil, "a(m)", "0 a m first\n"},
		{"sequence", `{"sequence":["a","b","a"]}`, nil, "a(b(a(m)))", "0 a m first\n1 b a(m)\n2 a b(a(m))\n"},
		{"named step", `{"sequential":[{"agent":"a","name":"write it"}]}`, nil, "a(m)", "0 write it m first\n"},
		{"cycle once", `{"cycle":["a"]}`, nil, "a(m)", "r1.0 a m first\n"},
		{"cycles", `{"cycle":{"steps":["a"],"cycles":3}}`, nil, "a(a(a(m)))", "r1.0 a m first\nr2.0 a a(m)\nr3.0 a a(a(m))\n"},
		{
			"observer never says it", `{"cycle":{"steps":["a"],"cycles":2,"observer":"o"}}`, nil, "o(a(o(a(m))))",
			"r1.0 a m first\nr1.observer o a(m)\nr2.0 a o(a(m))\nr2.observer o a(o(a(m)))\n",
		},
		{
			"observer says it", `{"cycle":{"steps":["a","b"],"observer":"o"}}`,
			map[string][]string{"o": {"go on", "DONE, thanks"}},
			"b(a(go on))",
			"r1.0 a m first\nr1.1 b a(m)\nr1.observer o b(a(m))\nr2.0 a go on\nr2.1 b a(go on)\nr2.observer o b(a(go on))\n",
		},
		{
			"step says it", `{"cycle":{"steps":["a"],"cycles":"Infinity","breakCycleSignals":["enough"]}}`,
			map[string][]string{"a": {"more", "Enough."}},
			"Enough.", "r1.0 a m first\nr2.0 a more\n",
		},
		{
			"without signals nothing ends it early", `{"cycle":{"steps":["a"],"cycles":2}}`,
			map[string][]string{"a": {"done", "stop"}},
			"stop", "r1.0 a m first\nr2.0 a done\n",
		},
		{
			"the observer alone ends it", `{"cycle":{"steps":["a"],"cycles":2,"observer":"o"}}`,
			map[string][]string{"a": {"done", "stop"}, "o": {"no", "no"}},
			"no",
			"r1.0 a m first\nr1.observer o done\nr2.0 a no\nr2.observer o stop\n",
		},
		{
			"nested", `{"sequential":["a",{"cycle":{"steps":["b",{"sequential":["c"]}],"cycles":2}},"a"]}`, nil, "a(c(b(c(b(a(m))))))",
			"0 a m first\n1.r1.0 b a(m)\n1.r1.1.0 c b(a(m))\n1.r2.0 b c(b(a(m)))\n1.r2.1.0 c b(c(b(a(m))))\n2 a c(b(c(b(a(m)))))\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &fakeSteps{lines: tt.lines}
			out, err := flowOf(t, tt.flow).Run(t.Context(), "m", p.do)
			if err != nil {
				t.Fatal(err)
			}
			if out.Text != tt.want {
				t.Errorf("result %q, want %q", out.Text, tt.want)
			}
			if diff := cmp.Diff(tt.log, p.log()); diff != "" {
				t.Error(diff)
			}
			n := int64(len(p.steps))
			if out.Usage.Input != n || out.Usage.Output != 2*n || out.Cost != 0.5*float64(n) {
				t.Errorf("usage of %d steps: %+v, %v", n, out.Usage, out.Cost)
			}
		})
	}
}

func TestBroadcastIsConcurrent(t *testing.T) {
	for _, tt := range []struct{ flow, want string }{
		{`{"broadcast":["a","b","c"]}`, "a(m)\n\nb(m)\n\nc(m)"},
		{`{"type":"broadcast","separator":"","steps":["a","b","c"]}`, "a(m)b(m)c(m)"},
		{`{"type":"broadcast","separator":" | ","steps":["a",{"cycle":{"steps":["b"],"cycles":2}},"c"]}`, "a(m) | b(b(m)) | c(m)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, all := &fakeSteps{}, make(chan struct{})
			var wg sync.WaitGroup
			var out Output
			var err error
			wg.Go(func() {
				out, err = flowOf(t, tt.flow).Run(t.Context(), "m", func(ctx context.Context, s Step) (Output, error) {
					o, err := p.do(ctx, s)
					<-all
					return o, err
				})
			})
			synctest.Wait()
			if n := len(p.steps); n != 3 {
				t.Errorf("%d steps began", n)
			}
			for _, s := range p.steps {
				if !s.First || s.Input != "m" {
					t.Errorf("%+v", s)
				}
			}
			close(all)
			wg.Wait()
			if err != nil || out.Text != tt.want || out.Usage.Input < 3 {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
}

func TestStepErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct{ name, flow, at, want, log string }{
		{"sequence", `{"type":"sequential","name":"main","steps":["a","b","c"]}`, "1", `flow "main", step "b": boom`, "0 a m first\n1 b a(m)\n"},
		{"default name", `{"sequential":["a"]}`, "0", `flow "sequential", step "a": boom`, "0 a m first\n"},
		{
			"nested", `{"type":"sequential","name":"outer","steps":[{"type":"cycle","name":"inner","cycles":3,"steps":[{"agent":"a","name":"write"}]},"b"]}`,
			"0.r2.0", `flow "inner", step "write": boom`, "0.r1.0 write m first\n0.r2.0 write a(m)\n",
		},
		{"observer", `{"type":"cycle","name":"loop","steps":["a"],"observer":"o"}`, "r1.observer", `flow "loop", step "o": boom`, "r1.0 a m first\nr1.observer o a(m)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &fakeSteps{fail: map[string]error{tt.at: boom}}
			out, err := flowOf(t, tt.flow).Run(t.Context(), "m", p.do)
			e, ok := errors.AsType[*StepError](err)
			if !ok || !errors.Is(err, boom) || err.Error() != tt.want || e.Path != tt.at {
				t.Errorf("%v", err)
			}
			if out.Text != "" || out.Usage.Input != int64(len(p.steps)) {
				t.Errorf("%+v", out)
			}
			if diff := cmp.Diff(tt.log, p.log()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBroadcastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		ended := 0
		_, err := flowOf(t, `{"broadcast":["a","b",{"sequential":["c","o"]}]}`).Run(t.Context(), "m",
			func(ctx context.Context, s Step) (Output, error) {
				switch s.Agent {
				case "b":
					synctest.Wait() // until the others wait
					return Output{}, boom
				case "c":
					<-ctx.Done()
					ended++
					return Output{}, nil
				}
				<-ctx.Done()
				ended++
				return Output{}, ctx.Err()
			})
		if !errors.Is(err, boom) || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if ended != 2 {
			t.Errorf("%d of the others ended; o must not start", ended)
		}
	})
}

func TestContext(t *testing.T) {
	why := errors.New("stopped by ann")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &fakeSteps{}
	_, err := flowOf(t, `{"cycle":{"steps":["a"],"observer":"o"}}`).Run(ctx, "m", func(ctx context.Context, s Step) (Output, error) {
		if s.Path == "r3.0" {
			cancel(why)
		}
		return p.do(ctx, s)
	})
	if !errors.Is(err, why) || len(p.steps) != 5 {
		t.Errorf("%v after %d steps", err, len(p.steps))
	}
}

func TestZeroFlow(t *testing.T) {
	out, err := new(Flow).Run(t.Context(), "m", nil)
	if out.Text != "m" || err != nil || string(new(Flow).Tree()) != "{}" || new(Flow).Agents() != nil {
		t.Error(out, err)
	}
}

// An interrupted flow runs again with the recorded outputs: the paths are the same.
func TestRunAfterInterruption(t *testing.T) {
	f := flowOf(t, `{"sequential":["a",{"cycle":{"steps":["b",{"broadcast":["c"]}],"observer":"o","cycles":3}},"a"]}`)
	full := &fakeSteps{}
	want, err := f.Run(t.Context(), "m", full.do)
	if err != nil {
		t.Fatal(err)
	}
	for n := range full.steps {
		record, made := map[string]Output{}, 0
		crash := errors.New("crash")
		run := func(limit int) (Output, error) {
			return f.Run(t.Context(), "m", func(ctx context.Context, s Step) (Output, error) {
				if out, ok := record[s.Path]; ok {
					return out, nil
				}
				if made == limit {
					return Output{}, crash
				}
				made++
				out, err := new(fakeSteps).do(ctx, s)
				record[s.Path] = out
				return out, err
			})
		}
		if _, err := run(n); !errors.Is(err, crash) {
			t.Fatalf("%d: %v", n, err)
		}
		got, err := run(-1)
		if err != nil || got != want || made != len(full.steps) {
			t.Errorf("after a crash at %d: %+v %v, %d steps made", n, got, err, made)
		}
	}
}
