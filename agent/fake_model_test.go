package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// step is one answer of a fake model.
type step struct {
	text   string
	uses   []transcript.ToolUse
	finish transcript.Finish
	usage  *transcript.Usage
	err    error
	during func(ctx context.Context) // runs after the first delta
}

// fake is a model that answers with its steps in order. Like a provider, it rejects requests whose tool
// uses and results do not pair.
type fake struct {
	t     testing.TB
	info  model.Info
	mu    sync.Mutex
	steps []step
	asked []model.Request
}

func play(t testing.TB, steps ...step) *fake {
	return &fake{t: t, info: model.Info{Provider: "fake", Model: "m", API: "fake"}, steps: steps}
}

func (f *fake) Info() model.Info { return f.info }

func (f *fake) Encode(e transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(e.Role()), JSON: e.JSON}, nil
}

func (f *fake) items(req *model.Request) []transcript.Encoded {
	var items []transcript.Encoded
	for _, w := range req.Messages {
		var e transcript.Encoded
		if err := e.IndexTrusted(w.JSON); err != nil {
			f.t.Errorf("request holds a broken item: %v", err)
		}
		items = append(items, e)
	}
	return items
}

func (f *fake) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := transcript.Validate(f.items(req)); err != nil {
			f.t.Errorf("the provider was sent an invalid transcript: %v", err)
		}
		f.mu.Lock()
		kept := *req
		kept.Messages = append([]model.EncodedItem(nil), req.Messages...)
		f.asked = append(f.asked, kept)
		if len(f.steps) == 0 {
			f.mu.Unlock()
			yield(nil, &model.Error{Kind: model.ErrorInvalid, Provider: "fake", Message: "the play is over"})
			return
		}
		s := f.steps[0]
		f.steps = f.steps[1:]
		f.mu.Unlock()
		if s.text != "" && !yield(model.TextDelta{Text: s.text}, nil) {
			return
		}
		if s.during != nil {
			s.during(ctx)
		}
		partial := &transcript.Item{Parts: []transcript.Part{transcript.Text{Text: s.text}}}
		if ctx.Err() != nil {
			yield(nil, &model.Error{Kind: model.ErrorNetwork, Provider: "fake", Partial: partial, Err: ctx.Err()})
			return
		}
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		it := transcript.Item{Role: transcript.RoleAssistant, Finish: s.finish, Usage: s.usage}
		if s.text != "" {
			it.Parts = append(it.Parts, transcript.Text{Text: s.text})
		}
		for _, u := range s.uses {
			it.Parts = append(it.Parts, u)
		}
		if it.Finish == "" {
			it.Finish = transcript.FinishStop
			if len(s.uses) > 0 {
				it.Finish = transcript.FinishToolUse
			}
		}
		yield(model.Answer{Item: it}, nil)
	}
}

func use(id, name, input string) transcript.ToolUse {
	return transcript.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}
}

// probe is a tool made of functions.
type probe struct {
	name     string
	readOnly bool
	run      func(ctx context.Context, c *tool.Call) (tool.Result, error)
}

func (p probe) Spec() tool.Spec {
	return tool.Spec{Name: p.name, Description: p.name, Input: json.RawMessage(`{"type":"object"}`), ReadOnly: p.readOnly}
}

func (p probe) Requests(c *tool.Call) ([]policy.Request, error) {
	op := policy.OpWrite
	if p.readOnly {
		op = policy.OpRead
	}
	return []policy.Request{{Operation: op, Resource: string(c.Input), ReadOnly: p.readOnly}}, nil
}

func (p probe) Run(ctx context.Context, c *tool.Call) (tool.Result, error) { return p.run(ctx, c) }

func hasContent(name, text string) probe {
	return probe{name: name, run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(text), nil }}
}

func registry(t testing.TB, tools ...tool.Tool) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// options completes options for tests: bypassPermissions, no sleep, numbered ids.
func options(o agent.Options) *agent.Options {
	if o.Permissions.Config.Mode == "" && o.Permissions.Guards == nil {
		o.Permissions.Config.Mode = policy.ModeBypass
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	if o.NewID == nil && o.Sessions == nil {
		n := 0
		var mu sync.Mutex
		o.NewID = func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("id-%03d", n)
		}
	}
	return &o
}

func newAgent(t testing.TB, m model.Model, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(m, options(o))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func prompt(t testing.TB, a *agent.Agent, text string) *event.Result {
	t.Helper()
	res, err := a.Prompt(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// events runs a turn and returns its events.
func events(t testing.TB, a *agent.Agent, text string) []event.Event {
	t.Helper()
	var all []event.Event
	for e, err := range a.Run(t.Context(), transcript.Text{Text: text}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func last(t testing.TB, all []event.Event) event.Result {
	t.Helper()
	res, ok := all[len(all)-1].(event.Result)
	if !ok {
		t.Fatalf("the last event is %T", all[len(all)-1])
	}
	return res
}

func roles(items []transcript.Encoded) (out []transcript.Role) {
	for _, e := range items {
		out = append(out, e.Role())
	}
	return out
}

// kinds lists the kinds of a session's records.
func kinds(t testing.TB, s *session.Sessions, id string) (out []session.Kind) {
	t.Helper()
	for r, err := range s.Records(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Kind)
	}
	return out
}
