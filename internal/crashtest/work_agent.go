package crashtest

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// workAgent runs an agent on the session. The agent has a model that checks what it receives, and
// tools that add an entry to the ledger.
func workAgent(ctx context.Context, j job) (err error) {
	tools, err := j.tools()
	if err != nil {
		return err
	}
	a, err := agent.New(&checkingModel{job: j, round: []string{"Look", "Look", "Effect"}, rounds: 2}, &agent.Options{
		Sessions: j.sessions,
		Session:  session.RestoreOptions{SessionID: j.id},
		System:   "You are a test.",
		Tools:    tools,
		Model:    agent.ModelOptions{Retry: agent.Retry{Max: -1}},

		Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
	})
	if err != nil {
		return err
	}
	defer func() {
		if e := a.Close(); err == nil {
			err = e
		}
	}()
	return j.prompt(ctx, a)
}

// prompt runs the job's turns.
func (j job) prompt(ctx context.Context, a *agent.Agent) error {
	for range j.rounds {
		for ev, err := range a.Run(ctx, transcript.Text{Text: "go on " + strings.Repeat("please ", 40)}) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case event.SessionOpened:
				j.report.Recovered(ev.Recovery)
			case event.Result:
				if ev.Reason != event.ReasonCompleted {
					return fmt.Errorf("a turn ended with %s: %w", ev.Reason, ev.Err)
				}
			}
		}
	}
	return nil
}

// tools returns two tools: one that runs alone, and one whose calls run in parallel. Both add an
// entry to the ledger when they run.
func (j job) tools() (*tool.Registry, error) {
	type input struct {
		N int `json:"n"`
	}
	run := func(_ context.Context, c *tool.Call, _ input) (tool.Result, error) {
		return tool.Text("ran " + c.ID), j.ledger.Note(j.id, c.ID)
	}
	effect, err := tool.New(tool.Spec{Name: "Effect", Description: "Changes something."}, run, nil)
	if err != nil {
		return nil, err
	}
	look, err := tool.New(tool.Spec{Name: "Look", Description: "Looks at something.", ReadOnly: true}, run, nil)
	if err != nil {
		return nil, err
	}
	return tool.NewRegistry(effect, look)
}

// checkingModel is a model that reports transcripts in which tool uses and results do not form
// pairs. It answers a prompt with rounds of tool calls and a text.
type checkingModel struct {
	job
	round  []string // the tools that it calls
	rounds int      // for each prompt

	calls, uses int
}

func (m *checkingModel) Info() model.Info {
	return model.Info{Provider: "crashtest", Model: "strict", API: "crashtest"}
}

// Encode returns items unchanged.
func (m *checkingModel) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (m *checkingModel) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		items, err := m.check(req)
		if err != nil {
			m.report.Fault("session %s cannot continue: %v", m.id, err)
			yield(nil, &model.Error{Kind: model.ErrorInvalid, Provider: "crashtest", Message: err.Error()})
			return
		}
		if m.calls == 0 {
			m.report.Resumed(m.id)
		}
		m.calls++
		text := strings.Repeat("let me see ", 60)
		if !yield(model.TextDelta{Text: text}, nil) {
			return
		}
		yield(model.Answer{Item: m.answer(items, text)}, nil)
	}
}

func (m *checkingModel) check(req *model.Request) ([]transcript.Encoded, error) {
	items := make([]transcript.Encoded, len(req.Messages))
	for i, w := range req.Messages {
		if err := items[i].IndexTrusted(w.JSON); err != nil {
			return nil, err
		}
	}
	return items, CheckPairing(items)
}

// answer returns the next answer of the model, which depends on the number of rounds of results
// since the last prompt.
func (m *checkingModel) answer(items []transcript.Encoded, text string) transcript.Item {
	rounds := 0
	for i := len(items) - 1; i >= 0 && items[i].Role() != transcript.RoleUser; i-- {
		if len(items[i].UseIDs()) > 0 {
			rounds++
		}
	}
	it := transcript.Item{Role: transcript.RoleAssistant, Model: "strict", Finish: transcript.FinishStop, Usage: &transcript.Usage{}}
	it.Parts = append(it.Parts, transcript.Text{Text: text})
	if rounds >= m.rounds {
		return it
	}
	it.Finish = transcript.FinishToolUse
	for _, name := range m.round {
		m.uses++
		input := fmt.Appendf(nil, `{"n":%d}`, m.uses)
		it.Parts = append(it.Parts, transcript.ToolUse{ID: m.use(m.uses), Name: name, Input: input})
	}
	return it
}
