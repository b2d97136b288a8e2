package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusOther(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "cancel", "security", "time", "reporting"), map[string]func(*testing.T, corpus.Case){
		"xx-019":      corpus.Test(`{"given": {"state":"cancel at each of: before dispatch, streaming, tool queued, approval pending, tool running, background"}, "when": ["next turn"], "expect": {"transcript valid in every case, exactly one result per call":true}}`, testCancelInEveryState),
		"xx-012":      corpus.Test(`{"given": {"state":"secret in tool output"}, "when": ["log, events, crash report"], "expect": {"redaction":"applied before storage where configured, marker kept"}}`, by(testSecretInToolOutput)),
		"xx-018":      corpus.Test(`{"given": {"state":"clock jumps back 1 h"}, "when": ["append"], "expect": {"order by seq is right; timeouts use the monotonic clock":true}}`, by(testClockJumpsBack)),
		"ak-tool-014": corpus.Test(`{"given": {"policy":"ignore/accumulate/fail-fast"}, "when": ["reporter error"], "expect": {"ignore":"swallowed","accumulate":"collected","fail-fast":"raises"}}`, by(TestTranscriptObserver)), // a failing TranscriptObserver stops the loop; a LoopObserver cannot return an error
	}, nil)
}

func testCancelInEveryState(t *testing.T, _ corpus.Case) {
	for name, run := range map[string]func(*testing.T){
		"before dispatch":      testInterruptBeforeModel,
		"streaming":            TestInterruptKeepsPartialAnswer,
		"tool queued, running": TestInterruptAnswersEveryOpenCall,
		"approval pending":     TestInterruptDeniesApproval,
		"background":           TestInterruptKeepsBackgroundTasks,
	} {
		t.Run(name, run)
	}
}

func testInterruptBeforeModel(t *testing.T) {
	var a *agent.Agent
	m := play(t, step{text: "never"})
	stops := rewriter(func(agent.MutatorContext) ([]transcript.Encoded, error) { a.Interrupt(); return nil, nil })
	a = newAgent(t, m, agent.Options{Sessions: sessions(t), Mutators: []agent.Mutator{stops}})
	if res := prompt(t, a, "go"); res.Reason != event.ReasonInterrupted {
		t.Errorf("ended with %s", res.Reason)
	}
	if err := transcript.Validate(a.Snapshot().Items); err != nil {
		t.Error(err)
	}
}

// The order of records does not depend on the clock.
func testClockJumpsBack(t *testing.T) {
	s := sessions(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { now = now.Add(-time.Hour); return now }
	a := newAgent(t, play(t, step{text: "one"}, step{text: "two"}), agent.Options{Sessions: s, Clock: clock, Permissions: agent.Permissions{AskTimeout: time.Minute}})
	prompt(t, a, "a")
	if res := prompt(t, a, "b"); res.Reason != event.ReasonCompleted {
		t.Errorf("%s: %v", res.Reason, res.Err)
	}
	var seq int64
	for r, err := range s.Records(t.Context(), a.SessionID(), session.Range{}) {
		if err != nil || r.Seq != seq+1 {
			t.Fatalf("record %d after %d: %v", r.Seq, seq, err)
		}
		seq = r.Seq
	}
	got, err := s.Load(t.Context(), a.SessionID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range got.Items {
		said = append(said, e.Text())
	}
	if !slices.Equal(said, []string{"a", "one", "b", "two"}) {
		t.Errorf("the model reads %q", said)
	}
}

func testSecretInToolOutput(t *testing.T) {
	s := sessions(t)
	key := "ghp_" + "Zq8Lx2Vn4Rb7Tc9Wk3Md6Yp1Hs5Jf0Ga8Ue2"
	m := play(t, step{uses: []transcript.ToolUse{use("c1", "T", "{}")}}, step{text: "seen"})
	a := newAgent(t, m, agent.Options{Sessions: s, Mask: masker(t), Tools: registry(t, hasContent("T", "token "+key))})
	prompt(t, a, "go")
	marked := false
	for r, err := range s.Records(t.Context(), a.SessionID(), session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(r.Payload), key) {
			t.Errorf("record %d (%s) has the secret", r.Seq, r.Kind)
		}
		marked = marked || strings.Contains(string(r.Payload), "token [secret:github-token]")
	}
	if !marked {
		t.Error("no mark of the masked text")
	}
	for _, w := range m.asked[1].Messages {
		if strings.Contains(string(w.JSON), key) {
			t.Error("the request has the secret")
		}
	}
}
