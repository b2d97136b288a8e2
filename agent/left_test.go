package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A question of a sub-agent that is left open ends the run as one of the agent's own: it
// is asked again when the agent runs again, and stays open when that is left.
func TestASubagentIsLeftWithItsQuestion(t *testing.T) {
	for _, again := range []bool{true, false} {
		person := &gives{err: approval.ErrLeave}
		bash := command("Bash")
		h := newHouse(t, asking(agent.Options{Tools: registry(t, bash), Ask: person.ask}),
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "push", "")}}, {text: "thanks"}},
			map[string]*fake{"scout": play(t, pushing(1), step{text: "pushed"})}, kind("scout"))
		if res, err := h.parent.Prompt(t.Context(), "go"); !errors.Is(err, approval.ErrLeave) {
			text, _ := resultText(t, h.parent, "c1")
			t.Fatalf("%+v, %v, %s", res, err, text)
		}
		questions := 1
		if again {
			person.answer, person.err, questions = approval.Answer{Decision: approval.Allow}, nil, 0
			res, err := h.parent.Prompt(t.Context(), "go on")
			if err != nil || !strings.Contains(res.Text, "thanks") || len(bash.inputs) != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
		} else if err := h.parent.Leave(); err != nil {
			t.Fatal(err)
		}
		children := h.children()
		if len(children) != 1 || children[0].Questions != questions {
			t.Errorf("again %v: %+v", again, children)
		}
	}
}
