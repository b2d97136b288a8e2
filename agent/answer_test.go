package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// What an answer allows is decided by the policy as it is when the answer is applied, in the
// same way wherever the answer comes from: what the mode or a rule denies by then is not run,
// and nothing is remembered.
func TestAnswerUsesCurrentPolicy(t *testing.T) {
	meanwhile := map[string]policy.Change{
		"dontAsk":    {Mode: policy.ModeDontAsk, By: "bob"},
		"restricted": {Mode: policy.ModeRestricted, By: "bob"},
		"silent":     {Mode: policy.ModeSilent, By: "bob"},
		"denied":     {Grant: &policy.Grant{ID: "g1", Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "git push"}, By: "bob"},
		"plan":       {Mode: policy.ModePlan, By: "bob"}, // which asks, as the person was
		"nothing":    {},
	}
	routes := []string{"here", "elsewhere", "while nobody runs", "before the next start"}
	for name, change := range meanwhile {
		for _, d := range []approval.Decision{approval.Allow, approval.AllowSession} {
			for _, route := range routes {
				for _, child := range []bool{false, true} {
					if child && (route == "while nobody runs" || route == "before the next start") {
						continue
					}
					if name == "denied" && route == "before the next start" {
						continue // a start asks for a mode only
					}
					t.Run(fmt.Sprintf("%s, %s, %s, sub-agent %v", name, d, route, child), func(t *testing.T) {
						runs, granted := 0, 0
						if name == "plan" || name == "nothing" {
							runs = 1
							if d == approval.AllowSession {
								granted = 1
							}
						}
						if name == "denied" {
							granted++ // the denial
						}
						w := answered{t: t, disk: memory.New(), change: change, answer: approval.Answer{Decision: d, Actor: "ann"}}
						w.play(route, child)
						if len(w.bash.inputs) != runs || w.grants != granted {
							t.Errorf("ran %d times, want %d; %d grants, want %d", len(w.bash.inputs), runs, w.grants, granted)
						}
					})
				}
			}
		}
	}
}

// answered is a call that is asked about; the policy changes, and then comes the answer.
type answered struct {
	t      *testing.T
	disk   *memory.Store
	change policy.Change
	answer approval.Answer
	bash   *runner
	grants int
}

func (w *answered) play(route string, child bool) {
	t, s := w.t, session.New(w.disk, nil)
	w.bash = command("Bash")
	meanwhile := func() {
		if w.change.By != "" {
			changes(t, s, "lead", w.change)
		}
	}
	elsewhere := func(id string) {
		a := w.answer
		a.RequestID = id
		if _, err := approval.Resolve(context.WithoutCancel(t.Context()), s, "lead", a); err != nil {
			t.Error(err)
		}
	}
	var left string
	o := asking(agent.Options{Tools: registry(t, w.bash), Permissions: agent.Permissions{Ask: func(ctx context.Context, q approval.Request) (approval.Answer, error) {
		switch route {
		case "here":
			meanwhile()
			return w.answer, nil
		case "elsewhere":
			meanwhile()
			elsewhere(q.ID)
			<-ctx.Done()
			return approval.Answer{}, ctx.Err()
		}
		left = q.ID
		return approval.Answer{}, approval.ErrSuspend
	}}})
	steps := []step{pushing(1), {text: "so"}}
	if child {
		steps = []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}, {text: "so"}}
	}
	a := leadOf(t, s, o, steps, pushing(1), step{text: "well"})
	if route == "while nobody runs" || route == "before the next start" {
		_, _ = a.parent.Prompt(t.Context(), "go")
		if err := a.parent.Suspend(); err != nil {
			t.Fatal(err)
		}
		var mode policy.Mode // "": the session's
		if route == "before the next start" {
			mode = w.change.Mode
		} else {
			meanwhile()
		}
		elsewhere(left)
		var err error
		a.parent, err = agent.New(play(t, step{text: "so"}), &agent.Options{
			Sessions: s, Session: session.RestoreOptions{SessionID: "lead"}, Tools: o.Tools, Permissions: agent.Permissions{Config: policy.Config{Mode: mode}},
		})
		if err != nil {
			t.Fatal(err)
		}
		goOn(t, a.parent)
	} else {
		prompt(t, a.parent, "go")
	}
	w.grants = len(a.parent.Guards().Grants())
	a.parent.Close()
}
