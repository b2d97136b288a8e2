package strategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

func TestCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "flows"),
		map[string]func(*testing.T, corpus.Case){
			"flows":       checkFlow,
			"cd-flow-004": corpus.Test(`{"given": {"state":"cycle with observer answering 'done' in round 2"}, "when": ["call"], "expect": {"rounds":2,"result":"the step's output, not the observer's"}}`, checkObserver),
			"cd-flow-017": corpus.Test(`{"given": {"state":"step raises"}, "when": ["call"], "expect": {"error":"wrapped with flow and step name; after-step hook does not fire"}}`, checkStepFails),
		}, nil)
}

// checkFlow checks cases about the structure of a flow, or about an observer's input.
func checkFlow(t *testing.T, c corpus.Case) {
	var given map[string]json.RawMessage
	c.Decode(t, c.Setup(), &given)
	if _, ok := given["break mode"]; ok {
		checkBreak(t, c)
		return
	}
	var kind string
	for _, k := range []string{"sequential", "sequence", "cycle", "broadcast"} {
		if given[k] != nil {
			kind = k
		}
	}
	var steps []string
	c.Decode(t, given[kind], &steps)
	flow := map[string]any{"type": kind, "steps": steps}
	for key, v := range given {
		if key != kind {
			flow[key] = v
		}
	}
	b, err := json.Marshal(flow)
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeSteps{}
	out, err := flowOf(t, string(b)).Run(t.Context(), "m", p.do)
	if err != nil {
		t.Fatal(err)
	}
	var expect map[string]json.RawMessage
	c.Decode(t, c.Expect(), &expect)
	for key, want := range expect {
		checkExpected(t, p, out, steps, key, strings.Trim(string(want), `"`))
	}
}

// checkExpected checks one expectation of a case about a run.
func checkExpected(t *testing.T, p *fakeSteps, out Output, steps []string, key, want string) {
	t.Helper()
	outputOf := func(agent string) string {
		i := slices.IndexFunc(p.steps, func(s Step) bool { return s.Agent == agent })
		return agent + "(" + p.steps[i].Input + ")"
	}
	agent, what, _ := strings.Cut(key, " ")
	from, isOutput := strings.CutSuffix(want, "'s output")
	switch {
	case key == "result" && isOutput:
		if out.Text != outputOf(from) {
			t.Errorf("result %q, want the output of %s: %q", out.Text, from, outputOf(from))
		}
	case what == "receives" && isOutput:
		if outputOf(agent) != agent+"("+outputOf(from)+")" {
			t.Errorf("the output of %s is %q", agent, outputOf(agent))
		}
	case what == "called":
		n := 0
		for _, s := range p.steps {
			if s.Agent == agent {
				n++
			}
		}
		if fmt.Sprint(n) != want {
			t.Errorf("%s was called %d times, want %s", agent, n, want)
		}
	case key == "chained":
		for i := 1; i < len(p.steps); i++ {
			if last := p.steps[i-1]; p.steps[i].Input != last.Agent+"("+last.Input+")" {
				t.Errorf("step %d got %q", i, p.steps[i].Input)
			}
		}
	default:
		t.Errorf("the case expects %s: %s, of the steps %v: no check for that", key, want, steps)
	}
}

func checkBreak(t *testing.T, c corpus.Case) {
	var given struct {
		Mode    signalMatch `json:"break mode"`
		Signals []string
		Output  string `json:"observer output"`
	}
	var expect struct{ Breaks bool }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &expect)
	flow, err := json.Marshal(map[string]any{
		"type": "cycle", "steps": []string{"a"}, "observer": "o", "cycles": 2,
		"breakCycleSignals": given.Signals, "breakCycleSignalMatch": given.Mode,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeSteps{lines: map[string][]string{"o": {given.Output, "nothing"}}}
	out, err := flowOf(t, string(flow)).Run(t.Context(), "m", p.do)
	if err != nil {
		t.Fatal(err)
	}
	if broke := len(p.steps) == 2; broke != expect.Breaks {
		t.Errorf("%s: %q in %q: breaks %v", given.Mode, given.Signals, given.Output, broke)
	} else if broke && out.Text != "a(m)" {
		t.Errorf("the result is %q, want the step's", out.Text)
	}
}

func checkObserver(t *testing.T, c corpus.Case) {
	var expect struct {
		Rounds int
		Result string
	}
	c.Decode(t, c.Expect(), &expect)
	if expect.Result != "the step's output, not the observer's" {
		t.Fatalf("unknown result %s", expect.Result)
	}
	p := &fakeSteps{lines: map[string][]string{"o": {"again", "done"}}}
	out, err := flowOf(t, `{"type":"cycle","steps":["a"],"observer":"o"}`).Run(t.Context(), "m", p.do)
	if err != nil || len(p.steps) != 2*expect.Rounds || out.Text != "a(again)" {
		t.Errorf("%+v %v after %d steps", out, err, len(p.steps))
	}
}

func checkStepFails(t *testing.T, _ corpus.Case) {
	boom := errors.New("boom")
	p := &fakeSteps{fail: map[string]error{"0": boom}}
	_, err := flowOf(t, `{"type":"sequential","name":"pipeline","steps":["a","b"]}`).Run(t.Context(), "m", p.do)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), `"pipeline"`) || !strings.Contains(err.Error(), `"a"`) {
		t.Error(err)
	}
	if len(p.steps) != 1 {
		t.Errorf("%d steps were made", len(p.steps))
	}
}
