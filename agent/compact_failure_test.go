package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

var long = strings.Repeat("x", 3000)

// tooLong is a provider's error for a transcript that is too long.
func tooLong() step { return failing(model.ErrorTooLong) }

func notices(all []event.Event) (out []string) {
	for _, e := range all {
		if n, ok := e.(event.Notice); ok {
			out = append(out, n.Text)
		}
	}
	return out
}

// A transcript that the model rejects as too long is compacted, and the model is called again.
func TestTooLongTranscriptCompacted(t *testing.T) {
	for _, c := range []struct {
		name      string
		steps     []step // steps of the third turn
		o         agent.Compact
		reason    event.Reason
		compacted int
	}{
		{"once", []step{tooLong(), {text: "the story"}, {text: "on"}}, agent.Compact{}, event.ReasonCompleted, 1},
		{"not twice in a row", []step{tooLong(), {text: "the story"}, tooLong()}, agent.Compact{}, event.ReasonFailed, 1},
		{"again after an answer", []step{
			tooLong(), {text: "the story"}, {uses: []transcript.ToolUse{use("c", "T", "{}")}}, tooLong(), {text: "s"}, {text: "on"},
		}, agent.Compact{}, event.ReasonCompleted, 2},
		{"summary request too long", []step{tooLong(), tooLong(), {text: "the story"}, {text: "on"}}, agent.Compact{}, event.ReasonCompleted, 1},
		{"never", []step{tooLong(), tooLong(), tooLong(), tooLong(), tooLong()}, agent.Compact{}, event.ReasonFailed, 0},
		{"off", []step{tooLong()}, agent.Compact{Disabled: true}, event.ReasonFailed, 0},
		{"nothing to compact", []step{tooLong()}, agent.Compact{Steps: []agent.Mutator{agent.CompactionStep{Step: "dropThinking"}}}, event.ReasonFailed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := play(t, append([]step{{text: long}, {text: long}}, c.steps...)...)
			a := newAgent(t, m, agent.Options{Sessions: sessions(t), Compact: c.o, Tools: registry(t, hasContent("T", long))})
			prompt(t, a, "a")
			prompt(t, a, "b")
			all := events(t, a, "c")
			if r := last(t, all); r.Reason != c.reason || countEvents[event.TranscriptRewritten](all) != c.compacted || len(m.steps) != 0 {
				t.Errorf("%s (%v), compacted %d times, %d steps left", r.Reason, r.Err, countEvents[event.TranscriptRewritten](all), len(m.steps))
			}
		})
	}
}

// A compaction that failed is not tried again in the same turn.
func TestFailedCompactionTriedOncePerTurn(t *testing.T) {
	round := func(id string) step { return step{uses: []transcript.ToolUse{use(id, "T", "{}")}} }
	for name, story := range map[string]step{
		"the model fails":          failing(model.ErrorAuth),
		"empty summary":            {text: "  "},
		"summary too long":         {text: strings.Repeat("y", 20000)},
		"model refuses":            {text: "I cannot", finish: transcript.FinishRefusal},
		"model calls tools":        {uses: []transcript.ToolUse{use("s", "T", "{}")}},
		"stream without an answer": {err: errors.New("torn")},
		"invalid key":              failing(model.ErrorAuth),
	} {
		t.Run(name, func(t *testing.T) {
			s := sessions(t)
			m := play(t, step{text: long}, step{text: long}, story, round("c1"), round("c2"), step{text: "done"})
			m.info.Context = 2000
			a := newAgent(t, m, agent.Options{Sessions: s, Tools: registry(t, hasContent("T", "x")), Model: agent.ModelOptions{Retry: agent.Retry{Max: -1}}})
			prompt(t, a, "a")
			prompt(t, a, "b")
			all := events(t, a, "c")
			said := strings.Join(notices(all), "\n")
			if r := last(t, all); r.Reason != event.ReasonCompleted || len(m.steps) != 0 || strings.Count(said, "cannot compact the transcript") != 1 {
				t.Errorf("%s (%v), %d steps left, said %q", r.Reason, r.Err, len(m.steps), said)
			}
			if slices.Contains(kinds(t, s, a.SessionID()), record.KindRewrite) {
				t.Error("something was rewritten")
			}
		})
	}
}

func TestSummaryRetried(t *testing.T) {
	m := play(t, step{text: long}, step{text: long}, failing(model.ErrorOverloaded), step{text: "the story"}, step{text: "on"})
	m.info.Context = 2000
	a := newAgent(t, m, agent.Options{Sessions: sessions(t)})
	prompt(t, a, "a")
	prompt(t, a, "b")
	all := events(t, a, "c")
	if r := last(t, all); r.Reason != event.ReasonCompleted || countEvents[event.ModelRetrying](all) != 1 || countEvents[event.TranscriptRewritten](all) != 1 {
		t.Errorf("%s (%v), retried %d times", r.Reason, r.Err, countEvents[event.ModelRetrying](all))
	}
}

// A compaction that does not reduce the transcript enough is not repeated in the same turn.
func TestUselessCompactionNotRepeated(t *testing.T) {
	hooks := hook.New(nil)
	fired := 0
	add(t, hooks, hook.PreCompact, func(hook.Input) { fired++ })
	round := func(id string) step { return step{uses: []transcript.ToolUse{use(id, "T", "{}")}} }
	for name, o := range map[string]agent.Compact{
		"nothing to do": {Items: 3, Steps: []agent.Mutator{agent.CompactionStep{Step: "dropThinking"}, agent.CompactionStep{Step: "dropFailed"}}},
		"too little":    {Items: 3, Steps: []agent.Mutator{agent.CompactionStep{Step: "keepRecent", Items: 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			fired = 0
			m := play(t, step{text: "1"}, step{text: "2"}, round("c1"), round("c2"), round("c3"), step{text: "done"})
			a := newAgent(t, m, agent.Options{Hooks: agent.Hooks{Registry: hooks}, Tools: registry(t, hasContent("T", "x")), Compact: o})
			prompt(t, a, "a")
			prompt(t, a, "b")
			fired = 0
			all := events(t, a, "c")
			if r := last(t, all); r.Reason != event.ReasonCompleted || fired != 1 {
				t.Errorf("%s (%v), PreCompact fired %d times", r.Reason, r.Err, fired)
			}
		})
	}
}

// After a restart, the usage of an answer from before the compaction is not used.
func TestCompactedSessionNotCompactedOnResume(t *testing.T) {
	store := memory.New()
	m := play(t, step{text: long}, step{text: "b", usage: &transcript.Usage{Input: 1900}}, step{text: "the story"}, step{err: errors.New("the end")})
	m.info.Context = 2000
	a := newAgent(t, m, agent.Options{Sessions: session.New(store, nil), Compact: agent.Compact{KeepTokens: 100}})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if all := events(t, a, "c"); countEvents[event.TranscriptRewritten](all) != 1 {
		t.Fatalf("compacted %d times", countEvents[event.TranscriptRewritten](all))
	}
	m = play(t, step{text: "on"})
	m.info.Context = 2000
	b := newAgent(t, m, agent.Options{
		Sessions: session.New(store, nil), Session: session.RestoreOptions{SessionID: a.SessionID(), Takeover: true}, Compact: agent.Compact{KeepTokens: 100},
	})
	all := events(t, b, "d")
	if r := last(t, all); r.Text != "on" || countEvents[event.TranscriptRewritten](all) != 0 {
		t.Errorf("%s (%v): compacted %d times", r.Reason, r.Err, countEvents[event.TranscriptRewritten](all))
	}
}

// faulty is a store that fails on request, before or after it has written.
type faulty struct {
	session.Store
	fails func(session.Batch) (before, after bool)
}

func (f *faulty) Unwrap() session.Store { return f.Store }

func (f *faulty) Append(ctx context.Context, id string, b session.Batch) error {
	before, after := f.fails(b)
	if before {
		return errors.New("the disk is gone")
	}
	err := f.Store.Append(ctx, id, b)
	if err == nil && after {
		return errors.New("the line is cut")
	}
	return err
}

func has(b session.Batch, k session.Kind) bool {
	return slices.ContainsFunc(b.Records, func(r session.Record) bool { return r.Kind == k })
}

// If the store fails during the rewrite, the session has either the old or the new transcript.
func TestCompactionStoreFails(t *testing.T) {
	for name, after := range map[string]bool{"before it is written": false, "after it is written": true} {
		t.Run(name, func(t *testing.T) {
			inner := memory.New()
			broken := false
			store := &faulty{inner, func(b session.Batch) (bool, bool) {
				broken = broken || has(b, record.KindRewrite)
				rewrites := has(b, record.KindRewrite)
				return broken && (!after || !rewrites), broken && after && rewrites
			}}
			m := play(t, step{text: long}, step{text: long}, step{text: "the story"}, step{text: "never"})
			m.info.Context = 2000
			a := newAgent(t, m, agent.Options{Sessions: session.New(store, nil)})
			prompt(t, a, "a")
			prompt(t, a, "b")
			if res, err := a.Prompt(t.Context(), "c"); err == nil {
				t.Errorf("the turn ended with %s", res.Reason)
			}
			want := 3
			if after {
				want = 4 // the rewrite is recorded, and the model is called with it
			}
			if len(m.asked) != want {
				t.Errorf("%d requests, want %d: the model was called with an unrecorded transcript", len(m.asked), want)
			}
			m = play(t, step{text: "the story"}, step{text: "on"})
			m.info.Context = 100_000
			b := newAgent(t, m, agent.Options{Sessions: session.New(inner, nil), Session: session.RestoreOptions{SessionID: a.SessionID(), Takeover: true}})
			if _, err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			items := b.Snapshot().Items
			if got := items[len(items)-1].Text(); got != "c" || (len(items) == 5) == after {
				t.Errorf("%d items, the last says %q", len(items), got)
			}
		})
	}
}

func TestSummaryUsageCounted(t *testing.T) {
	m := play(t, step{text: long}, step{text: long}, step{text: "the story", usage: &transcript.Usage{Output: 1000}}, step{text: "on"})
	m.info.Context, m.info.Price = 2000, &model.Price{Output: 1000}
	a := newAgent(t, m, agent.Options{Limits: agent.Limits{MaxBudgetUSD: 0.5}})
	prompt(t, a, "a")
	prompt(t, a, "b")
	if r := prompt(t, a, "c"); r.Reason != event.ReasonBudget || r.CostUSD != 1 || r.Usage.Output != 1000 {
		t.Errorf("%s, %v USD, %+v", r.Reason, r.CostUSD, r.Usage)
	}
}

func TestSummaryMasked(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	m := play(t, step{text: long}, step{text: long}, step{text: "the key is " + key}, step{text: "on"})
	m.info.Context = 2000
	a := newAgent(t, m, agent.Options{Sessions: sessions(t), Mask: mask})
	prompt(t, a, "a")
	prompt(t, a, "b")
	prompt(t, a, "c")
	if text := a.Snapshot().Items[0].Text(); !strings.Contains(text, "the key is") || strings.Contains(text, key) {
		t.Errorf("the transcript begins with %q", text)
	}
}

// An invalid result of a mutator is rejected, and nothing changes.
func TestInvalidMutatorResults(t *testing.T) {
	for name, f := range map[string]func([]transcript.Encoded) []transcript.Encoded{
		"duplicate item":  func(l []transcript.Encoded) []transcript.Encoded { return append(slices.Clone(l), l[0]) },
		"orphaned result": func(l []transcript.Encoded) []transcript.Encoded { return l[2:] },
		"no result":       func(l []transcript.Encoded) []transcript.Encoded { return slices.Delete(slices.Clone(l), 2, 3) },
		"empty item": func(l []transcript.Encoded) []transcript.Encoded {
			return append(slices.Clone(l), transcript.Encoded{})
		},
	} {
		for _, where := range []string{"mutator", "step"} {
			t.Run(name+" of a "+where, func(t *testing.T) {
				s := sessions(t)
				armed := false
				m := mutator{"garbage", func(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
					if !armed {
						return nil, nil
					}
					return f(c.Items), nil
				}}
				o := agent.Options{Sessions: s, Tools: registry(t, hasContent("T", "x")), Compact: agent.Compact{Items: 4, Steps: []agent.Mutator{m}}}
				if where == "mutator" {
					o.Mutators, o.Compact = []agent.Mutator{m}, agent.Compact{}
				}
				a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("c1", "T", "{}")}}, step{text: "1"}, step{text: "2"}), o)
				prompt(t, a, "a")
				armed = true
				res := prompt(t, a, "b")
				if want := map[string]event.Reason{"mutator": event.ReasonFailed, "step": event.ReasonCompleted}[where]; res.Reason != want {
					t.Errorf("%s: %v", res.Reason, res.Err)
				}
				if got := roles(a.Snapshot().Items); !slices.Equal(got[:4], []transcript.Role{"user", "assistant", "tool", "assistant"}) {
					t.Errorf("left %v", got)
				}
				if slices.Contains(kinds(t, s, a.SessionID()), record.KindRewrite) {
					t.Error("something was rewritten")
				}
			})
		}
	}
}

// The thinking before the calls whose results are sent next stays, even if a prompt follows them.
func TestDropThinkingKeepsRequiredThinking(t *testing.T) {
	thinking := func(id string) transcript.Item {
		it := asks(id)
		it.Parts = append([]transcript.Part{transcript.Thinking{Text: "hm " + id, Signature: "s"}}, it.Parts...)
		return it
	}
	got := reduce(t, agent.CompactionStep{Step: "dropThinking"}, list(t, transcript.UserText("a"), thinking("c1"), result("c1", false),
		thinking("c2"), result("c2", false), transcript.UserText("and this")))
	if strings.Contains(string(got[1].JSON), "hm c1") || !strings.Contains(string(got[3].JSON), `"hm c2"`) || !strings.Contains(string(got[3].JSON), `"s"`) {
		t.Errorf("left %s and %s", got[1].JSON, got[3].JSON)
	}
	got = reduce(t, agent.CompactionStep{Step: "dropFailed"}, list(t, transcript.UserText("a"), thinking("c1"), result("c1", true), thinks("so")))
	if !slices.Equal(idsOf(got), []string{"i0", "i3"}) {
		t.Errorf("an item with only thinking remains: %v", idsOf(got))
	}
}

// An image counts with its cost for the model, not with its bytes.
func TestImageEstimate(t *testing.T) {
	picture := transcript.Media{MIME: "image/png", Data: append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"), make([]byte, 200_000)...)}
	m := play(t, step{text: "1"}, step{text: "2"}, step{text: "3"})
	m.info.Context = 20_000
	a := newAgent(t, m, agent.Options{Sessions: sessions(t)})
	for range 3 {
		for e, err := range a.Run(t.Context(), picture, transcript.Text{Text: "look"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(event.CompactionStarted); ok {
				t.Error("it was compacted")
			}
		}
	}
}

// With only a limit of items, a summary leaves about half, whatever the model's context is.
func TestItemLimitWithoutKeep(t *testing.T) {
	var steps []step
	for i := range 10 {
		steps = append(steps, step{text: fmt.Sprint("answer ", i, strings.Repeat(" and so on", 20))})
	}
	m := play(t, slices.Insert(steps, 5, step{text: "the story"})...)
	m.info.Context = 200_000
	a := newAgent(t, m, agent.Options{Sessions: sessions(t), Compact: agent.Compact{Items: 10}})
	compacted := 0
	for range 6 {
		compacted += countEvents[event.TranscriptRewritten](events(t, a, "go on"+strings.Repeat(" please", 20)))
	}
	if n := len(a.Snapshot().Items); compacted != 1 || n > 9 {
		t.Errorf("compacted %d times, %d items are left", compacted, n)
	}
}
