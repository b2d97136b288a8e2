package agent_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// fixedModel is a model with fixed answers.
type fixedModel struct {
	*fake
	list []model.Answer
}

func (m *fixedModel) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		a := m.list[0]
		m.list = m.list[1:]
		if yield(model.Notice{Text: "heard"}, nil) {
			yield(a, nil)
		}
	}
}

func answer(text string, more bool, cost float64) model.Answer {
	return model.Answer{More: more, Cost: &cost, Item: transcript.Item{
		Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Usage: &transcript.Usage{Output: 1}, Parts: []transcript.Part{transcript.Text{Text: text}},
	}}
}

// A model whose answer has More is called again, and its reported cost is used.
func TestSelfContinuingModel(t *testing.T) {
	m := &fixedModel{play(t), []model.Answer{answer("one", true, 0.5), answer("two", false, 0.25)}}
	a := newAgent(t, m, agent.Options{Sessions: sessions(t)})
	defer a.Close()
	var items, notices int
	var res event.Result
	for _, e := range events(t, a, "go") {
		switch e := e.(type) {
		case event.ItemAppended:
			items++
		case event.Notice:
			notices++
		case event.Result:
			res = e
		}
	}
	if items != 3 || notices != 2 || res.Text != "one\ntwo" || res.CostUSD != 0.75 || res.Turns != 2 || res.Reason != event.ReasonCompleted {
		t.Errorf("%d items, %d notices, %+v", items, notices, res)
	}
}

// externalTool is a tool whose calls another program has started.
type externalTool struct{ *runner }

func (externalTool) RunsWithoutApproval(*tool.Call) string { return "other" }

// A call that runs without approval is recorded as such. A deny still applies.
func TestCallWithoutApproval(t *testing.T) {
	for _, c := range []struct {
		name   string
		deny   bool
		effect policy.Effect
		by     string
	}{{"approval requested", false, policy.Allow, "other"}, {"denied", true, policy.Deny, "no shell"}} {
		t.Run(c.name, func(t *testing.T) {
			person := &fixedAnswer{}
			o := asking(agent.Options{Permissions: agent.Permissions{Ask: person.ask}})
			if c.deny {
				p, err := policy.ToolNames{"Bash"}.Deny()
				if err != nil {
					t.Fatal(err)
				}
				o.Permissions.Config.Policies = []policy.NamedPolicy{{Name: "no shell", Policy: p}}
			}
			none, err := tool.NewRegistry()
			if err != nil {
				t.Fatal(err)
			}
			bash := externalTool{command("Bash")}
			o.Tools = none.WithFallback(func(name string) (tool.Tool, bool) { return bash, name == "Bash" })
			a := newAgent(t, play(t, pushCall(1), step{text: "ok"}), o)
			defer a.Close()
			var d policy.Decision
			for _, e := range events(t, a, "go") {
				if e, ok := e.(event.DecisionMade); ok {
					d = e.Decision
				}
			}
			if len(person.asked) != 0 || d.Effect != c.effect || d.By != c.by || (len(bash.inputs) == 1) == c.deny {
				t.Errorf("asked %d, ran %d, %+v", len(person.asked), len(bash.inputs), d)
			}
		})
	}
}

// Note accepts only records about where a session runs.
func TestNote(t *testing.T) {
	s := sessions(t)
	a := newAgent(t, play(t, step{text: "ok"}), agent.Options{Sessions: s})
	prompt(t, a, "go")
	d := session.Draft{Kind: record.KindWorkspaceEvent, Payload: []byte(`{"event":"x"}`)}
	if err := a.Note(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, s, a.SessionID()); !slices.Contains(got, record.KindWorkspaceEvent) {
		t.Errorf("%v", got)
	}
	if err := a.Note(t.Context(), session.Draft{Kind: record.KindDecision, Payload: []byte(`{}`)}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Note(t.Context(), d); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := newAgent(t, play(t), agent.Options{}).Note(t.Context(), d); err != nil {
		t.Errorf("without a store: %v", err)
	}
}
