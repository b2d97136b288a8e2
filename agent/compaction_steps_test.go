package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusCompaction(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "compaction"), map[string]func(*testing.T, corpus.Case){
		"ak-comp-001": checkReduced,
		"ak-comp-002": checkReduced,
		"ak-comp-005": corpus.Test(`{"given": {"state":"pipeline [drop reasoning, keep recent]"}, "when": ["run"], "expect": {"order":"as listed","items left":2}}`, by(testStepsInOrder)),
		"ak-comp-006": corpus.Test(`{"given": {"state":"cancelled token"}, "when": ["run pipeline"], "expect": {"result":"cancelled, transcript unchanged"}}`, by(testCancelledCompactionChangesNothing)),
		"ak-comp-009": corpus.Test(`{"given": {"state":"compaction fails after mutating half"}, "when": ["turn"], "expect": {"transcript":"unchanged (all or nothing)"}}`, by(testFailedCompactionChangesNothing)),
	}, nil)
}

// list encodes items with their indexes as ids.
func list(t testing.TB, items ...transcript.Item) []transcript.Encoded {
	t.Helper()
	var out []transcript.Encoded
	for i, it := range items {
		it.ID = fmt.Sprint("i", i)
		e, err := it.Encode()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func asks(ids ...string) transcript.Item {
	it := transcript.Item{Role: transcript.RoleAssistant}
	for _, id := range ids {
		it.Parts = append(it.Parts, use(id, "T", `{}`))
	}
	return it
}

func result(id string, isError bool) transcript.Item {
	return transcript.ToolResult{UseID: id, IsError: isError, Content: []transcript.Part{transcript.Text{Text: "r"}}}.Item()
}

func thinks(text string) transcript.Item {
	return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Thinking{Text: text}, transcript.Text{Text: "so"}}}
}

func reduce(t testing.TB, m agent.Mutator, items []transcript.Encoded) []transcript.Encoded {
	t.Helper()
	got, err := m.Mutate(t.Context(), agent.MutatorContext{Items: items, Context: 1000, NewID: func() string { return "new" }})
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		got = items
	}
	if err := transcript.Validate(got); err != nil {
		t.Errorf("%s: %v", m.Name(), err)
	}
	return got
}

func idsOf(items []transcript.Encoded) (ids []string) {
	for _, e := range items {
		ids = append(ids, e.ID())
	}
	return ids
}

func TestDropFailed(t *testing.T) {
	half := reduce(t, agent.CompactionStep{Step: "dropFailed"}, list(t, asks("c1", "c2"), result("c1", true), result("c2", false), transcript.UserText("more")))
	if !slices.Equal(idsOf(half), []string{"i0", "i2", "i3"}) || len(half[0].Uses()) != 1 {
		t.Errorf("left %v", idsOf(half))
	}
	news := list(t, transcript.UserText("go"), asks("c1"), result("c1", true))
	if got := reduce(t, agent.CompactionStep{Step: "dropFailed"}, news); len(got) != 3 {
		t.Errorf("a failure that the model has not seen is gone: %v", idsOf(got))
	}
}

func testStepsInOrder(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	var order []string
	note := func(m agent.Mutator) agent.Mutator {
		return mutator{m.Name(), func(ctx context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
			order = append(order, m.Name())
			return m.Mutate(ctx, c)
		}}
	}
	m := play(t, step{text: "one"}, step{text: "two"})
	a := newAgent(t, m, agent.Options{Sessions: sessions, Compact: agent.Compact{
		Items: 2, Steps: []agent.Mutator{note(agent.CompactionStep{Step: "dropThinking"}), note(agent.CompactionStep{Step: "keepRecent", Items: 2})},
	}})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if want := []string{"drop thinking", "keep recent"}; !slices.Equal(order, want) {
		t.Errorf("steps %v, want %v", order, want)
	}
	if n := len(m.asked[1].Messages); n != 2 {
		t.Errorf("the second request has %d items, want 2", n)
	}
}

type mutator struct {
	name string
	do   func(context.Context, agent.MutatorContext) ([]transcript.Encoded, error)
}

func (m mutator) Name() string { return m.name }

func (m mutator) Mutate(ctx context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
	return m.do(ctx, c)
}

func testCancelledCompactionChangesNothing(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	var a *agent.Agent
	stops := mutator{"stops", func(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
		a.Interrupt()
		return c.Items[len(c.Items)-1:], nil
	}}
	a = newAgent(t, play(t, step{text: "one"}), agent.Options{
		Sessions: sessions, Compact: agent.Compact{Items: 2, Steps: []agent.Mutator{stops, agent.CompactionStep{Step: "keepRecent", Items: 1}}},
	})
	prompt(t, a, "a")
	if res := prompt(t, a, "b"); res.Reason != event.ReasonInterrupted {
		t.Errorf("ended with %s", res.Reason)
	}
	if n := len(a.Snapshot().Items); n != 3 || slices.Contains(kinds(t, sessions, a.SessionID()), record.KindRewrite) {
		t.Errorf("%d items are left, records %v", n, kinds(t, sessions, a.SessionID()))
	}
}

func testFailedCompactionChangesNothing(t *testing.T) {
	for name, steps := range map[string][]agent.Mutator{
		"a step fails": {agent.CompactionStep{Step: "keepRecent", Items: 1}, mutator{"fails", func(context.Context, agent.MutatorContext) ([]transcript.Encoded, error) {
			return nil, errors.New("no")
		}}},
		"prompt removed": {mutator{"drops", func(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) { return c.Items[:1], nil }}},
		"a pair is split": {mutator{"splits", func(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
			return slices.DeleteFunc(slices.Clone(c.Items), func(e transcript.Encoded) bool { return e.Role() == transcript.RoleTool }), nil
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := session.New(memory.New(), nil)
			m := play(t, step{uses: []transcript.ToolUse{use("c1", "T", `{}`)}}, step{text: "one"}, step{text: "two"})
			a := newAgent(t, m, agent.Options{Sessions: sessions, Tools: registry(t, hasContent("T", "x")), Compact: agent.Compact{Items: 4, Steps: steps}})
			prompt(t, a, "a")
			res := prompt(t, a, "b")
			if n := len(a.Snapshot().Items); n < 5 || slices.Contains(kinds(t, sessions, a.SessionID()), record.KindRewrite) {
				t.Errorf("%d items are left (%s), records %v", n, res.Reason, kinds(t, sessions, a.SessionID()))
			}
		})
	}
}

func TestDropThinking(t *testing.T) {
	got := reduce(t, agent.CompactionStep{Step: "dropThinking"}, list(t, transcript.UserText("a"), thinks("hm"),
		transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Thinking{Text: "only"}}},
		transcript.UserText("b"), thinks("now")))
	if !slices.Equal(idsOf(got), []string{"i0", "i1", "i3", "i4"}) {
		t.Fatalf("left %v", idsOf(got))
	}
	if strings.Contains(string(got[1].JSON), "hm") || !strings.Contains(string(got[3].JSON), "now") {
		t.Errorf("left %s and %s", got[1].JSON, got[3].JSON)
	}
}

func TestRedactMutator(t *testing.T) {
	m, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	got := reduce(t, agent.CompactionStep{Step: "redact", Mask: m}, list(t, transcript.UserText("it is "+key), transcript.UserText("plain")))
	if strings.Contains(string(got[0].JSON), key) || got[0].ID() != "i0" || got[1].Text() != "plain" {
		t.Errorf("left %s and %s", got[0].JSON, got[1].JSON)
	}
}

// No step breaks a pair or removes the last prompt, whatever the transcript is.
func TestStepsKeepTranscriptValid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var items []transcript.Item
		n := 0
		for range rapid.IntRange(1, 20).Draw(r, "items") {
			switch rapid.IntRange(0, 3).Draw(r, "kind") {
			case 0:
				items = append(items, transcript.UserText("u"))
			case 1:
				items = append(items, thinks("t"))
			default:
				var ids []string
				for range rapid.IntRange(1, 3).Draw(r, "calls") {
					n++
					ids = append(ids, fmt.Sprint("c", n))
				}
				items = append(items, asks(ids...))
				for _, id := range ids {
					items = append(items, result(id, rapid.Bool().Draw(r, "error")))
				}
			}
		}
		given := list(t, items...)
		cur := agent.MutatorContext{Items: given, NewID: func() string { return "new" }, Ask: func(context.Context, string, []transcript.Encoded) (transcript.Item, error) {
			return transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "told"}}}, nil
		}}
		for _, m := range []agent.Mutator{
			agent.CompactionStep{Step: "dropThinking"}, agent.CompactionStep{Step: "dropFailed"}, agent.CompactionStep{Step: "keepRecent", Items: rapid.IntRange(-1, 25).Draw(r, "keep")}, agent.CompactionStep{Step: "summarise", Tokens: rapid.IntRange(1, 200).Draw(r, "tokens")},
		} {
			got, err := m.Mutate(t.Context(), cur)
			if err != nil && strings.Contains(err.Error(), "is not shorter") {
				continue // nothing was changed
			}
			if err != nil {
				r.Fatalf("%s: %v", m.Name(), err)
			}
			if got == nil {
				continue
			}
			if err := transcript.Validate(got); err != nil {
				r.Fatalf("%s: %v", m.Name(), err)
			}
			for i, e := range slices.Backward(given) {
				if e.Role() == transcript.RoleUser {
					if !slices.Contains(idsOf(got), fmt.Sprint("i", i)) {
						r.Fatalf("%s: the last prompt is gone", m.Name())
					}
					break
				}
			}
			cur.Items = got
		}
	})
}

func TestCompactOnRequest(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	hooks := hook.New(nil)
	var hookRuns []string
	for _, e := range []hook.Event{hook.PreCompact, hook.PostCompact} {
		add(t, hooks, e, func(in hook.Input) {
			line := fmt.Sprint(in.Event, " ", in.Trigger, " ", in.Summary != "")
			if in.Instructions != nil {
				line += " " + *in.Instructions
			}
			hookRuns = append(hookRuns, line)
		})
	}
	big := strings.Repeat("x", 4000)
	m := play(t, step{text: big}, step{text: big}, step{text: "the story"}, step{text: "on"})
	a := newAgent(t, m, agent.Options{Sessions: sessions, Hooks: agent.Hooks{Registry: hooks}, Compact: agent.Compact{KeepTokens: 100}})
	prompt(t, a, "a")
	prompt(t, a, "b")
	before, after, err := a.Compact(t.Context(), "keep the names")
	if err != nil || before != 4 || after >= before {
		t.Fatalf("%d items became %d: %v", before, after, err)
	}
	if !strings.Contains(m.asked[2].System, "keep the names") {
		t.Error("the model did not get the instructions")
	}
	if want := []string{"PreCompact manual false keep the names", "PostCompact manual true"}; !slices.Equal(hookRuns, want) {
		t.Errorf("hooks heard %q, want %q", hookRuns, want)
	}
	if res := prompt(t, a, "c"); res.Reason != event.ReasonCompleted || res.Text != "on" {
		t.Errorf("%+v", res)
	}
}
