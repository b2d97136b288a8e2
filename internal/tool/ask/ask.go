// Package ask provides the AskUserQuestion tool: the user chooses among answers or writes
// one.
//
//	model ─► AskUserQuestion {questions} ─► guard: only the user ─► terminal, console, daemon
//	  ◄── the answers ── tool ◄── approval with input {questions, answers} ◄──┘
//
// The answers are part of the approval ([approval.Question.AnswersInput]), as in Claude Code.
// Answers that come from a model, a hook or a callback are rejected: only the user can answer.
//
//	t, err := ask.New()
//	registry, err := tool.NewRegistry(t)
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

const description = "Asks the user 1 to 4 questions, each with 2 to 4 answers to choose from; the user can also answer in their own words. " +
	"Use it when you need a decision from the user, such as a requirement or a choice between approaches. " +
	"Put the answer that you recommend first. Do not use it to ask for approval of a plan or of an action."

type input struct {
	Questions []forms.Choice `json:"questions" jsonschema:"1 to 4"`
}

// asker is AskUserQuestion. The user's answers are not part of the input schema that the model sees.
type asker struct{ tool.Tool }

// New returns the tool AskUserQuestion. The tool has no state.
func New() (tool.Tool, error) {
	spec := tool.Spec{Name: forms.AskTool, Description: description, ReadOnly: true}
	t, err := tool.New(spec, runUnanswered, requests)
	return asker{t}, err
}

func runUnanswered(context.Context, *tool.Call, input) (tool.Result, error) {
	return tool.Failure(continueText), nil
}

func requests(_ *tool.Call, in input) ([]policy.Request, error) {
	if wrong := forms.CheckChoices(in.Questions); wrong != "" {
		return nil, errors.New(wrong)
	}
	return []policy.Request{{Resource: forms.AskTool, Display: questionsText(in.Questions), ReadOnly: true, Person: true}}, nil
}

// questionsText returns the questions as plain text for the user.
func questionsText(list []forms.Choice) string {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		several := ""
		if c.Multi {
			several = " (multiple choice)"
		}
		fmt.Fprintf(&b, "%s: %s%s\n", c.Header, c.Question, several)
		for _, o := range c.Options {
			fmt.Fprintf(&b, "  - %s: %s\n", o.Label, o.Description)
			for l := range strings.Lines(o.Preview) {
				b.WriteString("      " + strings.TrimRight(l, "\r\n") + "\n")
			}
		}
	}
	return b.String()
}

// Requests returns one request, which only the user can answer. Answers in the model's input are rejected.
func (a asker) Requests(call *tool.Call) ([]policy.Request, error) {
	if call.OriginalInput == nil {
		if hasAnswers(call.Input) {
			return nil, errors.New("answers: only the user can set them; omit the field")
		}
		return a.Tool.Requests(call)
	}
	if _, _, err := forms.ReadAnswers(call.OriginalInput, call.Input); err != nil {
		return nil, err
	}
	asked := *call
	asked.Input = call.OriginalInput
	list, err := a.Tool.Requests(&asked)
	for i := range list {
		list[i].Input = call.Input
	}
	return list, err
}

func hasAnswers(raw json.RawMessage) bool {
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil {
		return false
	}
	_, there := in["answers"]
	return there
}

// Run returns the user's answers.
func (a asker) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	if call.OriginalInput == nil {
		return a.Tool.Run(ctx, call)
	}
	list, answers, err := forms.ReadAnswers(call.OriginalInput, call.Input)
	if err != nil {
		return tool.Failure("invalid answers: " + err.Error()), nil // the model reads the error
	}
	var b strings.Builder
	b.WriteString("The user has answered:")
	for _, c := range list {
		fmt.Fprintf(&b, "\n%q = %s", c.Question, quoted(answers[c.Question]))
	}
	return tool.Text(b.String()), nil
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(out, ", ")
}

const continueText = "No one is available to answer. Choose the most sensible option, state your assumption, and continue."

// Denial returns the text that the model reads if the user did not answer.
func (asker) Denial(_ *tool.Call, d policy.Decision) string {
	switch {
	case d.PersonAsked && d.By == "nobody" && d.Reason != "":
		return d.Reason + "\n" + continueText
	case d.By == "nobody", d.By == "timeout", strings.HasPrefix(d.By, "mode "):
		return continueText
	case !d.PersonAsked || d.By == "interrupt" || d.By == "approval":
		return ""
	case d.Reason == "":
		return "The user declined to answer. Continue with what you know, or ask in a different way."
	}
	return "The user chose none of the answers and wrote: " + d.Reason
}
