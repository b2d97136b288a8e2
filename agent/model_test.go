package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func failing(kind model.ErrorKind) step {
	return step{err: &model.Error{Kind: kind, Provider: "fake", Message: "ill"}}
}

func TestRetries(t *testing.T) {
	asks := func(d time.Duration) step {
		return step{err: &model.Error{Kind: model.ErrorRateLimit, Provider: "fake", RetryAfter: d}}
	}
	for _, c := range []struct {
		name   string
		steps  []step
		retry  agent.Retry
		waits  []time.Duration
		reason event.Reason
	}{
		{
			"two failures, then an answer",
			[]step{failing(model.ErrorOverloaded), failing(model.ErrorNetwork), {text: "ok"}},
			agent.Retry{},
			[]time.Duration{2 * time.Second, 4 * time.Second},
			event.ReasonCompleted,
		},
		{
			"too many",
			[]step{failing(model.ErrorOverloaded), failing(model.ErrorOverloaded), failing(model.ErrorOverloaded), failing(model.ErrorOverloaded), {text: "late"}},
			agent.Retry{},
			[]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second},
			event.ReasonFailed,
		},
		{"never", []step{failing(model.ErrorOverloaded), {text: "late"}}, agent.Retry{Max: -1}, nil, event.ReasonFailed},
		{"not for a bad key", []step{failing(model.ErrorAuth), {text: "late"}}, agent.Retry{}, nil, event.ReasonFailed},
		{"as long as the provider asks", []step{asks(time.Minute), {text: "ok"}}, agent.Retry{}, []time.Duration{time.Minute}, event.ReasonCompleted},
		{"longer than the default limit", []step{asks(61 * time.Second), {text: "ok"}}, agent.Retry{}, nil, event.ReasonFailed},
		{"longer limit", []step{asks(90 * time.Second), {text: "ok"}}, agent.Retry{After: 2 * time.Minute}, []time.Duration{90 * time.Second}, event.ReasonCompleted},
		{"not what the provider advises against", []step{{err: &model.Error{Kind: model.ErrorOverloaded, Retry: new(false)}}, {text: "ok"}}, agent.Retry{}, nil, event.ReasonFailed},
		{
			"at most the cap",
			[]step{failing(model.ErrorNetwork), failing(model.ErrorNetwork), {text: "ok"}},
			agent.Retry{Base: 20 * time.Second, Cap: 25 * time.Second},
			[]time.Duration{20 * time.Second, 25 * time.Second},
			event.ReasonCompleted,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var waits []time.Duration
			a := newAgent(t, play(t, c.steps...), agent.Options{
				Model: agent.ModelOptions{Retry: c.retry}, Rand: func() float64 { return 0.5 },
				Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
			})
			res := prompt(t, a, "go")
			if res.Reason != c.reason {
				t.Errorf("ended by %s: %v", res.Reason, res.Err)
			}
			if d := cmp.Diff(c.waits, waits); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
		})
	}
}

func TestJitterStaysWithinAQuarter(t *testing.T) {
	for _, rnd := range []float64{0, 0.999999} {
		var wait time.Duration
		a := newAgent(t, play(t, failing(model.ErrorNetwork), step{text: "ok"}), agent.Options{
			Rand:  func() float64 { return rnd },
			Sleep: func(_ context.Context, d time.Duration) error { wait = d; return nil },
		})
		prompt(t, a, "go")
		if wait < 1500*time.Millisecond || wait > 2500*time.Millisecond {
			t.Errorf("waited %v with rand %v", wait, rnd)
		}
	}
}

func TestFallbackModelContinues(t *testing.T) {
	m := play(t, failing(model.ErrorOverloaded), step{text: "primary again"})
	m2 := play(t, step{uses: []transcript.ToolUse{use("c", "T", "{}")}}, step{text: "from the fallback"})
	m2.info.Model = "m2"
	a := newAgent(t, m, agent.Options{Model: agent.ModelOptions{Fallback: m2, Retry: agent.Retry{Max: -1}}, Tools: registry(t, hasContent("T", "x"))})
	all := events(t, a, "go")
	var switched, ran bool
	for _, e := range all {
		switch e.(type) {
		case event.ModelSwitched:
			switched = true
		case event.ToolFinished:
			ran = true
		}
	}
	if res := last(t, all); !switched || !ran || res.Text != "from the fallback" {
		t.Errorf("switched %v, ran %v, result %+v", switched, ran, res)
	}
	if res := prompt(t, a, "again"); res.Text != "primary again" {
		t.Errorf("the next turn began with the fallback: %+v", res)
	}
}

// If a provider asks for a wait longer than Retry.After, the fallback answers instead, also for side
// calls.
func TestFallbackOnLongRetryAfter(t *testing.T) {
	for _, refused := range []*model.Error{
		{Kind: model.ErrorRateLimit, Provider: "fake", RetryAfter: 24 * time.Hour},
		{Kind: model.ErrorRateLimit, Provider: "fake", Retry: new(false)},
	} {
		ill := step{err: refused}
		set := func(primary *fake, fallback ...step) (*agent.Agent, *fake) {
			second := play(t, fallback...)
			second.info.Model = "m2"
			return newAgent(t, primary, agent.Options{
				Model: agent.ModelOptions{Fallback: second}, Compact: agent.Compact{Context: 2000},
				Sleep: func(_ context.Context, d time.Duration) error { t.Errorf("waited %v", d); return nil },
			}), second
		}
		a, _ := set(play(t, ill), step{text: "from the fallback"})
		if res := prompt(t, a, "go"); res.Text != "from the fallback" {
			t.Errorf("%s: %v", res.Reason, res.Err)
		}

		a, second := set(play(t, step{text: long}, step{text: long}, ill, step{text: "primary"}), step{text: "the story"})
		prompt(t, a, "a")
		prompt(t, a, "b")
		if res := prompt(t, a, "c"); res.Text != "primary" || len(second.asked) != 1 || !strings.Contains(a.Snapshot().Items[0].Text(), "the story") {
			t.Errorf("%s %q: the fallback was asked %d times, and the transcript begins with %.60q", res.Reason, res.Text, len(second.asked), a.Snapshot().Items[0].Text())
		}

		m := play(t, ill)
		a, _ = set(m, step{text: "beside"})
		if text, err := a.SideCall(t.Context(), m, "system", "a question"); text != "beside" || err != nil {
			t.Errorf("aside: %q, %v", text, err)
		}
	}
}

// The fallback also writes a summary if the model stays unavailable.
func TestFallbackSummarizes(t *testing.T) {
	ill := failing(model.ErrorOverloaded)
	m := play(t, step{text: long}, step{text: long}, ill, ill, step{text: "primary"})
	second := play(t, step{text: "the story"})
	second.info.Model = "m2"
	a := newAgent(t, m, agent.Options{Model: agent.ModelOptions{Fallback: second, Retry: agent.Retry{Max: 1}}, Compact: agent.Compact{Context: 2000}})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if res := prompt(t, a, "c"); res.Text != "primary" || len(second.asked) != 1 {
		t.Errorf("%s %q (%v): the fallback was asked %d times", res.Reason, res.Text, res.Err, len(second.asked))
	}
}

func TestBrokenStreamRetried(t *testing.T) {
	broken := step{text: "half", err: &model.Error{
		Kind: model.ErrorNetwork, Provider: "fake",
		Partial: &transcript.Item{Parts: []transcript.Part{transcript.Text{Text: "half"}}},
	}}
	a := newAgent(t, play(t, broken, step{text: "whole"}), agent.Options{})
	if res := prompt(t, a, "go"); res.Text != "whole" {
		t.Errorf("result %q", res.Text)
	}
	if n := len(a.Snapshot().Items); n != 2 {
		t.Errorf("%d items", n)
	}
	a = newAgent(t, play(t, broken), agent.Options{Model: agent.ModelOptions{Retry: agent.Retry{Max: -1}}})
	res := prompt(t, a, "go")
	it, _ := a.Snapshot().Items[1].Decode()
	if res.Reason != event.ReasonFailed || it.Finish != transcript.FinishError || it.Text() != "half" {
		t.Errorf("%s, kept %+v", res.Reason, it)
	}
}

func TestCostCountsCachedTokens(t *testing.T) {
	m := play(t, step{text: "x", usage: &transcript.Usage{CacheRead: 100_000}})
	m.info.Price = &model.Price{CacheRead: 0.3}
	if res := prompt(t, newAgent(t, m, agent.Options{}), "go"); res.CostUSD != 0.03 {
		t.Errorf("cost %v", res.CostUSD)
	}
}

func TestToolsCanChangeBetweenTurns(t *testing.T) {
	m := play(t, step{text: "a"}, step{text: "b"})
	a := newAgent(t, m, agent.Options{Tools: registry(t, hasContent("One", "1"))})
	prompt(t, a, "go")
	a.SetTools(registry(t, hasContent("One", "1"), hasContent("Two", "2")))
	reported := false
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := e.(event.ToolsChanged); ok {
			reported = len(m.asked) == 1 && len(e.Tools) == 2
		}
	}
	if !reported || len(m.asked[1].Tools) != 2 {
		t.Errorf("reported before the request: %v, offered %d tools", reported, len(m.asked[1].Tools))
	}
	said := words(m, 1)
	if strings.Count(said, "These tools are now available: Two") != 1 || strings.Contains(said, "no longer") {
		t.Errorf("the model reads %s", said)
	}
	a.SetTools(registry(t, hasContent("Two", "2")))
	m.steps = append(m.steps, step{text: "c"})
	prompt(t, a, "go")
	if said := words(m, 2); strings.Count(said, "These tools are no longer available: One") != 1 {
		t.Errorf("then it reads %s", said)
	}
}

// rewriter is a mutator made of a function.
type rewriter func(c agent.MutatorContext) ([]transcript.Encoded, error)

func (rewriter) Name() string { return "test" }

func (f rewriter) Mutate(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
	return f(c)
}

func TestMutators(t *testing.T) {
	s := sessions(t)
	var ended []bool
	watch := rewriter(func(c agent.MutatorContext) ([]transcript.Encoded, error) {
		ended = append(ended, c.TurnEnded)
		return c.Items, nil // the same items: no change
	})
	m := play(t, step{uses: []transcript.ToolUse{use("c", "T", "{}")}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
		Tools: registry(t, hasContent("T", "x")), Mutators: []agent.Mutator{watch},
	})
	for _, e := range events(t, a, "go") {
		if _, ok := e.(event.TranscriptRewritten); ok {
			t.Error("an unchanged transcript was announced")
		}
	}
	if d := cmp.Diff([]bool{true, false}, ended); d != "" {
		t.Error(d)
	}
	for _, k := range kinds(t, s, "one") {
		if k == record.KindRewrite {
			t.Error("an unchanged transcript was written")
		}
	}
}

func TestRewriteIsOneRecord(t *testing.T) {
	s := sessions(t)
	drop := rewriter(func(c agent.MutatorContext) ([]transcript.Encoded, error) {
		if len(c.Items) < 4 {
			return nil, nil
		}
		return c.Items[2:], nil
	})
	o := agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Mutators: []agent.Mutator{drop}}
	m := play(t, step{text: "1"}, step{text: "2"}, step{text: "3"})
	a := newAgent(t, m, o)
	prompt(t, a, "a")
	prompt(t, a, "b")
	dirty := 0
	for _, e := range events(t, a, "c") {
		if e, ok := e.(event.TranscriptRewritten); ok && e.Mutator == "test" {
			dirty++
		}
	}
	if dirty != 1 {
		t.Errorf("announced %d times", dirty)
	}
	want := a.Snapshot().Items
	a.Close()
	got, err := s.Load(t.Context(), "one", nil)
	if err != nil || len(got.Items) != len(want) {
		t.Fatalf("stored %d items, have %d (%v)", len(got.Items), len(want), err)
	}
	for i := range want {
		if string(want[i].JSON) != string(got.Items[i].JSON) {
			t.Errorf("item %d differs", i)
		}
	}
}

func TestMutationBreakingPairingRejected(t *testing.T) {
	s := sessions(t)
	breaks := rewriter(func(c agent.MutatorContext) ([]transcript.Encoded, error) {
		if c.TurnEnded {
			return nil, nil
		}
		return c.Items[:2], nil // the tool use has no result
	})
	m := play(t, step{uses: []transcript.ToolUse{use("c", "T", "{}")}}, step{text: "ok"})
	a := newAgent(t, m, agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"},
		Tools: registry(t, hasContent("T", "x")), Mutators: []agent.Mutator{breaks},
	})
	res := prompt(t, a, "go")
	if _, pairing := errors.AsType[*transcript.PairingError](res.Err); res.Reason != event.ReasonFailed || !pairing {
		t.Errorf("%s: %v", res.Reason, res.Err)
	}
	if got, err := s.Load(t.Context(), "one", nil); err != nil || len(got.Items) != 3 {
		t.Errorf("the stored transcript has %d items (%v)", len(got.Items), err)
	}
}

func TestCompaction(t *testing.T) {
	const window = 4000 // tokens
	big := strings.Repeat("x", 3000)
	s := sessions(t)
	noisy := probe{name: "T", run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(big), nil }}
	var steps []step
	for i := range 8 {
		steps = append(steps, step{uses: []transcript.ToolUse{use(fmt.Sprint("c", i), "T", "{}")}})
	}
	steps = append(steps[:4:4], append([]step{{text: "the story so far"}}, steps[4:]...)...)
	steps = append(steps, step{text: "done"}, step{text: "done"}, step{text: "done"})
	m := play(t, steps...)
	m.info.Context = window
	a := newAgent(t, m, agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, noisy), Limits: agent.Limits{MaxTurns: 20},
	})
	var compacted []event.TranscriptRewritten
	all := events(t, a, "new question")
	for _, e := range all {
		if e, ok := e.(event.TranscriptRewritten); ok {
			compacted = append(compacted, e)
		}
	}
	if res := last(t, all); res.Reason != event.ReasonCompleted {
		t.Fatalf("%s: %v", res.Reason, res.Err)
	}
	if len(compacted) == 0 {
		t.Fatal("the transcript was never compacted")
	}
	items := a.Snapshot().Items
	if items[0].Role() != transcript.RoleContext {
		t.Errorf("the transcript begins with a %s item", items[0].Role())
	}
	found := false
	for _, e := range items {
		found = found || e.Role() == transcript.RoleUser && e.Text() == "new question"
	}
	if !found {
		t.Error("compaction swallowed the pending prompt")
	}
	for i, req := range m.asked {
		size := 0
		for _, w := range req.Messages {
			size += len(w.JSON)
		}
		if size/4 > window {
			t.Errorf("request %d has about %d tokens", i, size/4)
		}
	}
	// The earlier transcript stays readable.
	n := 0
	for r, err := range s.Records(t.Context(), "one", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == session.KindItem {
			n++
		}
	}
	if n <= len(items) {
		t.Errorf("%d items in the log, %d in the transcript", n, len(items))
	}
}

// words returns the messages of a request as JSON.
func words(m *fake, request int) string {
	var b strings.Builder
	for _, w := range m.asked[request].Messages {
		b.Write(w.JSON)
	}
	return b.String()
}
