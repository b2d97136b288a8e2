package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// skill is a tool that limits the tools of its agent like a skill.
type skill struct{ a *agent.Agent }

func (s *skill) tool() probe {
	p := hasContent("Skill", "do it so")
	p.run = func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		_, err := s.a.Change(ctx, policy.Change{Limit: &policy.Limit{
			Name: "skill look", Rules: []string{"Read"}, Exempt: []string{"Skill"}, Origin: policy.Origin{File: "/s/look/SKILL.md", Line: 4},
		}})
		return tool.Text("look"), err
	}
	return p
}

func limited(s *session.Sessions, sk *skill, m *fake, t *testing.T, more func(*agent.Options)) *agent.Agent {
	o := agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
		Tools: registry(t, sk.tool(), hasContent("Read", "r"), hasContent("Write", "w")),
	}
	if more != nil {
		more(&o)
	}
	sk.a = newAgent(t, m, o)
	return sk.a
}

// verdicts returns the decisions of a session as "Tool effect by".
func verdicts(t *testing.T, s *session.Sessions) (list []string) {
	t.Helper()
	for r, err := range s.Records(t.Context(), "one", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		var d policy.Decision
		if r.Kind == record.KindDecision && json.Unmarshal(r.Payload, &d) == nil {
			line := d.Tool + " " + string(d.Effect) + " " + d.By
			if d.Rule != nil {
				line += " " + d.Rule.File
			}
			list = append(list, line)
		}
	}
	return list
}

func TestSkillToolsLastOneTurn(t *testing.T) {
	s, sk := sessions(t), &skill{}
	a := limited(s, sk, play(t,
		step{uses: []transcript.ToolUse{use("1", "Write", "{}"), use("2", "Skill", "{}"), use("3", "Write", "{}"), use("4", "Read", "{}")}},
		step{text: "done"},
		step{uses: []transcript.ToolUse{use("5", "Write", "{}")}}, step{text: "done"},
	), t, nil)
	prompt(t, a, "go")
	prompt(t, a, "again")
	a.Close()
	const by = "mode bypassPermissions"
	want := []string{"Write allow " + by, "Skill allow " + by, "Write deny skill look /s/look/SKILL.md", "Read allow " + by, "Write allow " + by}
	if got := verdicts(t, s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSkillLimitSurvivesKill(t *testing.T) {
	for _, said := range []string{"", "something else"} {
		s, sk := sessions(t), &skill{}
		reached := make(chan struct{})
		read := hasContent("Read", "r")
		read.run = func(context.Context, *tool.Call) (tool.Result, error) {
			close(reached)
			select {} // like kill -9
		}
		a := limited(s, sk, play(t, step{uses: []transcript.ToolUse{use("1", "Skill", "{}")}}, step{uses: []transcript.ToolUse{use("2", "Read", "{}")}}), t,
			func(o *agent.Options) { o.Tools = registry(t, sk.tool(), read) })
		go func() { _, _ = a.Prompt(context.Background(), "go") }()
		<-reached
		killed(t, s, a.SessionID())
		m := play(t, step{uses: []transcript.ToolUse{use("3", "Write", "{}")}}, step{text: "done"}, step{uses: []transcript.ToolUse{use("4", "Write", "{}")}}, step{text: "done"})
		b := limited(s, sk, m, t, func(o *agent.Options) { o.Session.Takeover = true })
		var input []transcript.Part
		want := []string{"Write deny skill look /s/look/SKILL.md", "Write allow mode bypassPermissions"}
		if said != "" {
			input = []transcript.Part{transcript.Text{Text: said}}
			want[0] = want[1]
		}
		for _, err := range b.Run(t.Context(), input...) {
			if err != nil {
				t.Fatal(err)
			}
		}
		prompt(t, b, "again")
		if got := verdicts(t, s); !slices.Equal(got[2:], want) {
			t.Errorf("%q: %q", said, got)
		}
		b.Close()
	}
}

func expanding(text string) (*agent.Expansion, error) {
	switch name, args, _ := strings.Cut(text, " "); name {
	case "/look":
		return &agent.Expansion{
			Command: "look", Args: args, Source: "user", Text: "Look at " + args,
			Limit: &policy.Limit{Name: "skill look", Rules: []string{"Read"}, Origin: policy.Origin{File: "/s/look/SKILL.md", Line: 4}},
		}, nil
	case "/bad":
		return nil, errors.New("bad cannot be used")
	}
	return nil, nil
}

// The model that a command names answers in its turn, including tool rounds, and in no other turn.
func TestCommandModelForOneTurn(t *testing.T) {
	s, sk := sessions(t), &skill{}
	own := play(t, step{text: "mine"}, step{text: "mine again"})
	other := play(t, step{uses: []transcript.ToolUse{use("1", "Write", "{}")}}, step{text: "theirs"}, step{text: "and once more"})
	a := limited(s, sk, own, t, func(o *agent.Options) {
		o.Expand = func(_ context.Context, text string) (*agent.Expansion, error) {
			return &agent.Expansion{Command: "ask", Source: "user", Text: "Ask", Model: named{other}}, nil
		}
	})
	var said []string
	for _, text := range []string{"/ask", "go on", "/ask", "go on"} {
		res := prompt(t, a, text)
		said = append(said, res.Text)
	}
	if want := []string{"theirs", "mine", "and once more", "mine again"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	if got := requestTexts(own, 1); !strings.Contains(strings.Join(got, "\n"), "and once more") {
		t.Errorf("the agent's own model does not have the other model's answers: %q", got)
	}
}

// named is a model with another name.
type named struct{ model.Model }

func (n named) Info() model.Info {
	i := n.Model.Info()
	i.Model = "another"
	return i
}

func TestSlashCommandLimitsTurn(t *testing.T) {
	s, sk := sessions(t), &skill{}
	m := play(t,
		step{uses: []transcript.ToolUse{use("1", "Write", "{}")}}, step{text: "done"},
		step{uses: []transcript.ToolUse{use("2", "Write", "{}")}}, step{text: "done"},
		step{uses: []transcript.ToolUse{use("3", "Write", "{}")}}, step{text: "done"},
	)
	var hookRuns []string
	a := limited(s, sk, m, t, func(o *agent.Options) {
		o.Expand = func(_ context.Context, text string) (*agent.Expansion, error) { return expanding(text) }
		o.Hooks.Registry = registryWith(t, hook.UserPromptExpansion, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			hookRuns = append(hookRuns, in.Command.Type+" "+in.Command.Name+" "+in.Command.Args+" "+in.Command.Source+" "+in.Prompt)
			if strings.Contains(in.Command.Args, "secret") {
				return &hook.Output{Block: true, Reason: "not that"}, nil
			}
			return nil, nil
		})
	})
	prompt(t, a, "/look src")
	if got := requestTexts(m, 0); !slices.Equal(got, []string{"user: Look at src"}) {
		t.Errorf("%q", got)
	}
	prompt(t, a, "/unknown is a path")
	if err := a.Submit(t.Context(), transcript.Text{Text: "/look later"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if res := prompt(t, a, "/look secret"); res.Reason != event.ReasonHook || !strings.Contains(res.Err.Error(), "not that") {
		t.Errorf("%+v", res)
	}
	if _, err := a.Prompt(t.Context(), "/bad"); err == nil || !strings.Contains(err.Error(), "bad cannot be used") {
		t.Error(err)
	}
	a.Close()
	const denied = "Write deny skill look /s/look/SKILL.md"
	if got := verdicts(t, s); !slices.Equal(got, []string{denied, "Write allow mode bypassPermissions", denied}) {
		t.Errorf("%q", got)
	}
	if want := []string{"slash_command look src user /look src", "slash_command look later user /look later", "slash_command look secret user /look secret"}; !slices.Equal(hookRuns, want) {
		t.Errorf("%q", hookRuns)
	}
}
