package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The cost of a sub-agent between two turns of its parent is recorded with the next turn.
func TestUsageBetweenTurnsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		scout := play(t, step{text: "found it", usage: &transcript.Usage{Input: 1e6}, during: func(context.Context) { <-let }})
		scout.info.Price = &model.Price{Input: 2}
		h := newSubagentEnv(t, agent.Options{Background: &agent.Background{}},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "look", `,"run_in_background":true`)}}, {text: "meanwhile"}, {text: "I see"}},
			map[string]*fake{"scout": scout}, kind("scout"))
		prompt(t, h.parent, "begin")
		close(let)
		synctest.Wait()
		if res := last(t, answerQueue(t, h.parent)); res.CostUSD != 0 {
			t.Errorf("the second run cost %v by itself", res.CostUSD)
		}
		if err := h.parent.Close(); err != nil {
			t.Fatal(err)
		}
		var cost float64
		for r, err := range h.sessions.Records(t.Context(), h.parent.SessionID(), session.Range{}) {
			var c record.TurnClosed
			if err != nil || r.Kind == record.KindTurnClosed && json.Unmarshal(r.Payload, &c) != nil {
				t.Fatal(err)
			}
			cost += c.Cost
		}
		if cost != 2 {
			t.Errorf("the turns have cost %v", cost)
		}
	})
}

// dollar is the usage of one call of an expensive model.
var dollar = &transcript.Usage{Output: 1}

// expensive is a model whose calls cost a dollar each.
func expensive(t testing.TB, steps ...step) *fake {
	t.Helper()
	for i := range steps {
		if steps[i].usage == nil && steps[i].err == nil {
			steps[i].usage = dollar
		}
	}
	m := play(t, steps...)
	m.info.Price = &model.Price{Output: 1e6}
	return m
}

func stateOf(t testing.TB, s *session.Sessions, id string) *session.State {
	t.Helper()
	m, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.StateAt(t.Context(), id, m.Head)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestBudgetSpansPrompts(t *testing.T) {
	a := newAgent(t, expensive(t, step{text: "1"}, step{text: "2"}, step{text: "3"}, step{text: "4"}), agent.Options{Limits: agent.Limits{MaxBudgetUSD: 2.5}})
	for i, want := range []event.Reason{event.ReasonCompleted, event.ReasonCompleted, event.ReasonBudget, event.ReasonBudget} {
		res := prompt(t, a, "go")
		if res.Reason != want || res.BudgetUSD != 2.5 || res.RunCostUSD != float64(min(i+1, 3)) {
			t.Errorf("prompt %d: %s, %v of %v USD", i, res.Reason, res.RunCostUSD, res.BudgetUSD)
		}
		if wants := []string{"1", "2", "3", ""}[i]; res.Text != wants { // the third answer exceeds the limit
			t.Errorf("prompt %d: %q", i, res.Text)
		}
	}
}

// The cost of a call before a kill counts after it, although no turn was closed. The limit stays in
// force without being set again, until it is removed.
func TestBudgetSurvivesKill(t *testing.T) {
	s := sessions(t)
	hang := probe{name: "Hang", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		killed := newAgent(t, expensive(t, step{uses: []transcript.ToolUse{use("c", "Hang", "{}")}}), agent.Options{
			Sessions: s, Session: session.RestoreOptions{SessionID: "s"}, Tools: registry(t, hang), Limits: agent.Limits{MaxBudgetUSD: 1.5},
		})
		ctx, kill := context.WithCancel(context.Background())
		defer func() {
			kill()
			_ = killed.Close() // its lease was taken over
		}()
		go func() { _, _ = killed.Prompt(ctx, "go") }()
		synctest.Wait()
		if st := stateOf(t, s, "s"); st.CostUSD != 1 || st.Budget.USD != 1.5 {
			t.Errorf("recorded: %v of %v USD", st.CostUSD, st.Budget.USD)
		}
		again := func(o agent.Options, steps ...step) *event.Result {
			o.Sessions, o.Session = s, session.RestoreOptions{SessionID: "s", Takeover: true}
			a := newAgent(t, expensive(t, steps...), o)
			defer a.Close()
			return prompt(t, a, "go on")
		}
		if res := again(agent.Options{}, step{text: "2"}); res.Reason != event.ReasonBudget || res.RunCostUSD != 2 {
			t.Errorf("%s, %v USD", res.Reason, res.RunCostUSD)
		}
		if res := again(agent.Options{Limits: agent.Limits{MaxBudgetUSD: 2.5}}, step{text: "3"}); res.Reason != event.ReasonBudget || res.RunCostUSD != 3 {
			t.Errorf("%s, %v USD", res.Reason, res.RunCostUSD)
		}
		if res := again(agent.Options{Limits: agent.Limits{MaxBudgetUSD: math.Inf(1)}}, step{text: "4"}); res.Reason != event.ReasonCompleted || res.BudgetUSD != 0 {
			t.Errorf("%s, %v USD", res.Reason, res.RunCostUSD)
		}
		if res := again(agent.Options{}, step{text: "5"}); res.Reason != event.ReasonCompleted || res.RunCostUSD != 5 {
			t.Errorf("%s, %v USD", res.Reason, res.RunCostUSD)
		}
		fork := newAgent(t, expensive(t, step{text: "6"}), agent.Options{
			Sessions: s, Session: session.RestoreOptions{SessionID: "s", Fork: true}, Limits: agent.Limits{MaxBudgetUSD: 1},
		})
		defer fork.Close()
		if res := prompt(t, fork, "go on"); res.Reason != event.ReasonCompleted || res.RunCostUSD != 1 {
			t.Errorf("the fork: %s, %v USD", res.Reason, res.RunCostUSD)
		}
	})
}

// Every model call is recorded once, right after it was made, whatever its purpose.
func TestEveryModelCallRecorded(t *testing.T) {
	s := sessions(t)
	failed := step{text: "half", err: &model.Error{Kind: model.ErrorNetwork, Usage: dollar}}
	cutOff := step{text: "four", err: &model.Error{Kind: model.ErrorNetwork}}
	m := expensive(t, failed, cutOff, step{text: long}, step{text: long}, step{text: "beside"}, step{text: "the story"})
	a := newAgent(t, m, agent.Options{Sessions: s})
	defer a.Close()
	count := func(when string, want float64) {
		t.Helper()
		if st := stateOf(t, s, a.SessionID()); st.CostUSD != want || st.Tokens < int64(want) {
			t.Errorf("%s: %v USD and %d tokens are recorded, want %v", when, st.CostUSD, st.Tokens, want)
		}
	}
	if res := prompt(t, a, "one"); res.CostUSD != 3 {
		t.Errorf("the turn cost %v", res.CostUSD)
	}
	count("two failures and an answer", 3)
	prompt(t, a, "two")
	count("a second turn", 4)
	if _, err := a.SideCall(t.Context(), m, "system", "a question"); err != nil {
		t.Fatal(err)
	}
	count("an aside", 5)
	if _, _, err := a.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	count("a compaction between turns", 6)
}

// The cost of sub-agents is recorded in the run's log immediately.
func TestSubagentCostRecordedInRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		scout := expensive(t, step{uses: []transcript.ToolUse{use("x", "T", "{}")}}, step{text: "found it"})
		waits := probe{name: "T", readOnly: true, run: func(context.Context, *tool.Call) (tool.Result, error) {
			<-hold
			return tool.Text("x"), nil
		}}
		h := newSubagentEnv(t, agent.Options{Tools: registry(t, waits)},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "look", "")}}, {text: "I see"}}, map[string]*fake{"scout": scout}, kind("scout"))
		defer h.parent.Close()
		done := make(chan *event.Result)
		go func() {
			res, _ := h.parent.Prompt(context.Background(), "begin")
			done <- res
		}()
		synctest.Wait()
		if st := stateOf(t, h.sessions, h.parent.SessionID()); st.CostUSD != 1 {
			t.Errorf("before the turn is closed, %v USD are recorded", st.CostUSD)
		}
		if st := stateOf(t, h.sessions, h.children()[0].ID); st.CostUSD != 1 {
			t.Errorf("%v USD are recorded in the sub-agent's own log", st.CostUSD)
		}
		close(hold)
		if res := <-done; res.CostUSD != 2 || res.RunCostUSD != 2 {
			t.Errorf("the run cost %v, %v", res.CostUSD, res.RunCostUSD)
		}
		if st := stateOf(t, h.sessions, h.parent.SessionID()); st.CostUSD != 2 {
			t.Errorf("%v USD are recorded", st.CostUSD)
		}
	})
}

// paidModel is a model for concurrent calls. Each call takes a while and costs a dollar.
type paidModel struct {
	*fake
	mu    sync.Mutex
	calls int
}

func (c *paidModel) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		c.mu.Lock()
		c.calls++
		c.mu.Unlock()
		time.Sleep(time.Second)
		it := transcript.Item{Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Usage: dollar, Parts: []transcript.Part{transcript.Text{Text: "done"}}}
		if req.System == "" && len(req.Messages) == 1 {
			it.Parts, it.Finish = nil, transcript.FinishToolUse
			for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				it.Parts = append(it.Parts, delegate(id, "scout", "look", ""))
			}
		}
		yield(model.Answer{Item: it}, nil)
	}
}

// Parallel sub-agents exceed the budget by one call at most.
func TestParallelSubagentsReserve(t *testing.T) {
	for _, maxOutput := range []int{0, 1} { // the maximum cost of a call is unknown, or known
		synctest.Test(t, func(t *testing.T) {
			m := &paidModel{fake: expensive(t)}
			m.info.MaxOutput = maxOutput
			d := kind("scout")
			d.Model = ""
			subs, err := agent.NewSubagents(&agent.SubagentOptions{Definitions: []agent.Definition{d}})
			if err != nil {
				t.Fatal(err)
			}
			s := sessions(t)
			a := newAgent(t, m, agent.Options{Sessions: s, Tools: registry(t, subs.Tool()), Subagents: subs, Limits: agent.Limits{MaxBudgetUSD: 3.5}})
			defer a.Close()
			res := prompt(t, a, "go")
			if res.Reason != event.ReasonBudget || res.RunCostUSD > 4.5 || m.calls != int(res.RunCostUSD) {
				t.Errorf("%s after %d calls and %v USD", res.Reason, m.calls, res.RunCostUSD)
			}
			if st := stateOf(t, s, a.SessionID()); st.CostUSD != res.RunCostUSD {
				t.Errorf("recorded: %v of %v USD", st.CostUSD, res.RunCostUSD)
			}
		})
	}
}

// A budget without known prices is rejected, with a hint how to set a price.
func TestBudgetNeedsPrice(t *testing.T) {
	unpriced := play(t, step{text: "x", usage: dollar})
	refused := func(what string, err error) {
		t.Helper()
		e, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if !ok || !strings.Contains(e.Hint(), `"fake/m": {"input"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := agent.New(unpriced, options(agent.Options{Limits: agent.Limits{MaxBudgetUSD: 1}}))
	refused("a model", err)
	_, err = agent.New(expensive(t), options(agent.Options{Limits: agent.Limits{MaxBudgetUSD: 1}, Model: agent.ModelOptions{Fallback: unpriced}}))
	refused("a fallback", err)
	if _, err = agent.New(unpriced, options(agent.Options{Limits: agent.Limits{MaxTotalTokens: 1, MaxBudgetUSD: math.Inf(1)}})); err != nil {
		t.Error(err)
	}

	s := sessions(t)
	a := newAgent(t, expensive(t, step{text: "x"}), agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "s"}, Limits: agent.Limits{MaxBudgetUSD: 9}})
	prompt(t, a, "go")
	_, err = a.SideCall(t.Context(), unpriced, "", "q")
	refused("an aside", err)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := newAgent(t, unpriced, agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "s"}})
	_, err = b.Prompt(t.Context(), "go on")
	refused("a session that has a budget", err)
}

// The cost that a provider reports has priority over the price, and is enough without a price.
func TestProviderCostPreferred(t *testing.T) {
	m := &fixedModel{expensive(t), []model.Answer{answer("one", false, 0.25)}}
	if res := prompt(t, newAgent(t, m, agent.Options{Limits: agent.Limits{MaxBudgetUSD: 1}}), "go"); res.RunCostUSD != 0.25 {
		t.Errorf("%v USD", res.RunCostUSD)
	}
	silent := answer("two", false, 0)
	silent.Cost = nil
	m = &fixedModel{play(t), []model.Answer{answer("one", false, 0.25), silent}}
	m.info.Reported = true
	a := newAgent(t, m, agent.Options{Limits: agent.Limits{MaxBudgetUSD: 1}})
	if res := prompt(t, a, "go"); res.RunCostUSD != 0.25 {
		t.Errorf("%v USD", res.RunCostUSD)
	}
	res := prompt(t, a, "go on")
	if res.Err == nil || !strings.Contains(res.Err.Error(), "needs the price of") || res.Reason != event.ReasonFailed {
		t.Errorf("an answer without its cost: %s, %v", res.Reason, res.Err)
	}
}

func TestTokenBudgetSpansPrompts(t *testing.T) {
	a := newAgent(t, expensive(t, step{text: "1", usage: &transcript.Usage{Input: 5, Output: 1}}, step{text: "2"}), agent.Options{Limits: agent.Limits{MaxTotalTokens: 6}})
	if one, two := prompt(t, a, "go"), prompt(t, a, "go"); one.Reason != event.ReasonCompleted || two.Reason != event.ReasonBudget {
		t.Errorf("%s, %s", one.Reason, two.Reason)
	}
}
