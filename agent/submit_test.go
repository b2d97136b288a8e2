package agent_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Input that is submitted between two model requests is in the second one, whatever the agent does then.
func TestInputReachesTheNextRequest(t *testing.T) {
	note := transcript.Text{Text: "a message"}
	submit := func(t *testing.T, a *agent.Agent) {
		t.Helper()
		if err := a.Submit(t.Context(), note); err != nil {
			t.Error(err)
		}
	}
	for name, where := range map[string]struct{ tool, pause, mutator bool }{
		"while a tool runs":               {tool: true},
		"between two driver steps":        {pause: true},
		"while the transcript is changed": {mutator: true},
	} {
		t.Run(name, func(t *testing.T) {
			var a *agent.Agent
			read := probe{name: "Read", readOnly: true, run: func(context.Context, *tool.Call) (tool.Result, error) {
				if where.tool {
					submit(t, a)
				}
				return tool.Text("r"), nil
			}}
			o := agent.Options{Tools: registry(t, read)}
			o.Mutators = []agent.Mutator{mutator{"watch", func(_ context.Context, c agent.MutatorContext) ([]transcript.Encoded, error) {
				if where.mutator && !c.TurnEnded {
					submit(t, a)
				}
				return nil, nil
			}}}
			m := play(t, step{uses: []transcript.ToolUse{use("r", "Read", `{}`)}}, step{text: "done"})
			a = newAgent(t, m, o)
			d := a.Driver(nil)
			if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			for {
				st, err := d.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if st.Result != nil {
					break
				}
				if where.pause {
					submit(t, a)
				}
			}
			if len(m.asked) != 2 {
				t.Fatalf("%d requests", len(m.asked))
			}
			items := m.items(&m.asked[1])
			if len(items) != 4 || items[3].Text() != note.Text {
				t.Errorf("the next request has %d items, the last of which is %q", len(items), items[len(items)-1].Text())
			}
		})
	}
}

// Input submitted before a kill is in the first request after it, even if the turn was open with all
// results.
func TestQueuedInputSurvivesKill(t *testing.T) {
	store := sessions(t)
	o := agent.Options{Sessions: store, Session: session.RestoreOptions{SessionID: "s"}}
	o.Tools = registry(t, hasContent("Read", "r"))
	a := newAgent(t, play(t, step{uses: []transcript.ToolUse{use("r", "Read", `{}`)}}), o)
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for {
		st, err := d.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.AfterToolResult() {
			break
		}
	}
	if err := a.Submit(t.Context(), transcript.Text{Text: "a message"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Suspend(); err != nil {
		t.Fatal(err)
	}
	m := play(t, step{text: "done"})
	b := newAgent(t, m, o)
	for _, err := range b.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(m.asked) != 1 {
		t.Fatalf("%d requests", len(m.asked))
	}
	items := m.items(&m.asked[0])
	if last := items[len(items)-1]; last.Text() != "a message" {
		t.Errorf("the first request after it ends with %q", last.Text())
	}
}
