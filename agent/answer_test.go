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

// The policy at the time when an answer is applied decides about the call, wherever the answer comes
// from. A call that the mode or a rule denies by then does not run and leaves no grant.
func TestAnswerUsesCurrentPolicy(t *testing.T) {
	meanwhile := map[string]policy.Change{
		"dontAsk":    {Mode: policy.ModeDontAsk, By: "bob"},
		"restricted": {Mode: policy.ModeRestricted, By: "bob"},
		"silent":     {Mode: policy.ModeSilent, By: "bob"},
		"denied":     {Grant: &policy.Grant{ID: "g1", Effect: policy.Deny, Tool: "Bash", Operation: policy.OpCommand, Resource: "git push"}, By: "bob"},
		"plan":       {Mode: policy.ModePlan, By: "bob"}, // plan mode asks, and the approver has already answered
		"nothing":    {},
	}
	routes := []string{"here", "elsewhere", "between runs", "before the next start"}
	for name, change := range meanwhile {
		for _, d := range []approval.Decision{approval.Allow, approval.AllowSession} {
			for _, route := range routes {
				for _, child := range []bool{false, true} {
					if child && (route == "between runs" || route == "before the next start") {
						continue
					}
					if name == "denied" && route == "before the next start" {
						continue // only a mode can be requested at a start
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

// answered is a call that needs approval. The policy changes before the answer.
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
			recordChange(t, s, "lead", w.change)
		}
	}
	answerElsewhere := func(id string) {
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
			answerElsewhere(q.ID)
			<-ctx.Done()
			return approval.Answer{}, ctx.Err()
		}
		left = q.ID
		return approval.Answer{}, approval.ErrSuspend
	}}})
	steps := []step{pushCall(1), {text: "so"}}
	if child {
		steps = []step{{uses: []transcript.ToolUse{delegate("d1", "scout", "push", "")}}, {text: "so"}}
	}
	a := leadOf(t, s, o, steps, pushCall(1), step{text: "well"})
	if route == "between runs" || route == "before the next start" {
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
		answerElsewhere(left)
		var err error
		a.parent, err = agent.New(play(t, step{text: "so"}), &agent.Options{
			Sessions: s, Session: session.RestoreOptions{SessionID: "lead"}, Tools: o.Tools, Permissions: agent.Permissions{Config: policy.Config{Mode: mode}},
		})
		if err != nil {
			t.Fatal(err)
		}
		continueRun(t, a.parent)
	} else {
		prompt(t, a.parent, "go")
	}
	w.grants = len(a.parent.Guards().Grants())
	a.parent.Close()
}
