// Package plan provides the EnterPlanMode and ExitPlanMode tools. In plan mode, nothing is
// changed.
//
//	EnterPlanMode ─► mode plan: read, search, think
//	ExitPlanMode {plan} ─► the user reads all of it ─► default │ acceptEdits │ plan on, because …
//
// The guards enforce that nothing is changed (package policy). Starting plan mode only restricts
// the model and needs no approval. Leaving plan mode needs an approval by the user, independent of
// rules, grants, hooks and modes. If no one can answer, it is denied.
//
//	tools, err := plan.New(plan.Options{Mode: a.Mode, Change: func(ctx context.Context, m policy.Mode) error { … }})
package plan

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

// EnterTool starts plan mode; [forms.PlanTool] ends it.
const EnterTool = "EnterPlanMode"

// Options are the mode of an agent. Both fields are required.
type Options struct {
	Mode   func() policy.Mode                                // the current mode
	Change func(ctx context.Context, mode policy.Mode) error // stores the mode durably; the mode applies from the next decision
}

const (
	aboutEnter = "Starts plan mode, in which you read and search but change nothing until the user approves your plan. " +
		"Use it before work that is large, has several approaches, or is costly to undo."
	aboutExit = "Shows your plan to the user and ends plan mode if the user approves it. Call it when the plan is complete. " +
		"The user sees only the plan: state what you will change and where, how you will check it, and what is still open."
)

type enterInput struct{}

type exitInput struct {
	Plan string      `json:"plan" jsonschema:"The complete plan, in Markdown"`
	Mode policy.Mode `json:"mode,omitempty" jsonschema:"Omit it: the user chooses the mode"`
}

type plan struct{ o Options }

// New returns EnterPlanMode and ExitPlanMode. Sub-agents get neither of the tools: they are in plan
// mode while their parent is in plan mode.
func New(o Options) ([]tool.Tool, error) {
	if o.Mode == nil || o.Change == nil {
		return nil, errors.New("plan: Options.Mode and Options.Change must be set")
	}
	p := &plan{o}
	enter, err := tool.New(tool.Spec{Name: EnterTool, Description: aboutEnter}, p.enter, p.enterRequests)
	if err != nil {
		return nil, err
	}
	exit, err := tool.New(tool.Spec{Name: forms.PlanTool, Description: aboutExit}, p.exit, p.exitRequests)
	return []tool.Tool{enter, exitTool{exit}}, err
}

func (p *plan) enterRequests(*tool.Call, enterInput) ([]policy.Request, error) {
	switch m := p.o.Mode(); {
	case m == policy.ModePlan:
		return nil, errors.New("plan mode is already active")
	case m.Stricter(policy.ModePlan) == m:
		return nil, fmt.Errorf("the permission mode %s is stricter than plan mode, so no one could approve a plan", m)
	}
	return []policy.Request{{Resource: EnterTool, ReadOnly: true}}, nil
}

func (p *plan) enter(ctx context.Context, _ *tool.Call, _ enterInput) (tool.Result, error) {
	if err := p.o.Change(ctx, policy.ModePlan); err != nil {
		return tool.Failure("starting plan mode failed: " + err.Error()), nil // the model reads the error
	}
	return tool.Text("Plan mode is active."), nil
}

func (p *plan) exitRequests(call *tool.Call, in exitInput) ([]policy.Request, error) {
	if p.o.Mode() != policy.ModePlan {
		return nil, errors.New("plan mode is not active; continue")
	}
	if call.OriginalInput == nil && in.Mode != "" {
		return nil, errors.New("omit mode: the user chooses it")
	}
	if wrong := forms.CheckPlan(in.Plan); wrong != "" {
		return nil, errors.New(wrong)
	}
	return []policy.Request{{Resource: forms.PlanTool, Display: in.Plan, Person: true}}, nil
}

// exit runs after the user has approved the plan.
func (p *plan) exit(ctx context.Context, call *tool.Call, in exitInput) (tool.Result, error) {
	if p.o.Mode() != policy.ModePlan {
		return tool.Text("Plan mode has already ended. Continue."), nil
	}
	mode, changed := policy.ModeDefault, ""
	if call.OriginalInput != nil {
		mode = in.Mode
		var asked exitInput
		if err := json.Unmarshal(call.OriginalInput, &asked); err != nil || asked.Plan != in.Plan {
			changed = "\nThe user changed the plan. It is now:\n" + in.Plan
		}
	}
	if err := p.o.Change(ctx, mode); err != nil {
		return tool.Failure("ending plan mode failed: " + err.Error()), nil // the model reads the error
	}
	return tool.Text(fmt.Sprintf("The user approved the plan. Carry it out; the permission mode is %s.%s", mode, changed)), nil
}

const noAnswerText = "No one can answer: the plan is not approved, and plan mode stays active. End your turn with the plan as your answer."

// exitTool is ExitPlanMode with the user's answer merged into its input, and with its own texts for
// denials.
type exitTool struct{ tool.Tool }

// mergeAnswer combines the user's answer with the input that the user saw.
func mergeAnswer(call *tool.Call) (*tool.Call, error) {
	if call.OriginalInput == nil {
		return call, nil
	}
	text, mode, err := forms.ReadPlan(call.OriginalInput, call.Input)
	if err != nil {
		return nil, err
	}
	as := *call
	as.Input, err = json.Marshal(exitInput{text, policy.Mode(mode)})
	return &as, err
}

// Requests returns one request, which only the user can answer.
func (l exitTool) Requests(call *tool.Call) ([]policy.Request, error) {
	as, err := mergeAnswer(call)
	if err != nil {
		return nil, err
	}
	return l.Tool.Requests(as)
}

// Run ends plan mode.
func (l exitTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	as, err := mergeAnswer(call)
	if err != nil {
		return tool.Failure("invalid answer: " + err.Error()), nil // the model reads the error
	}
	return l.Tool.Run(ctx, as)
}

// Denial returns the text that the model reads if the plan was not approved.
func (exitTool) Denial(_ *tool.Call, d policy.Decision) string {
	switch {
	case d.PersonAsked && d.By == "nobody" && d.Reason != "":
		return d.Reason + "\n" + noAnswerText
	case d.By == "nobody", d.By == "timeout", strings.HasPrefix(d.By, "mode "):
		return noAnswerText
	case !d.PersonAsked || d.By == "interrupt" || d.By == "approval":
		return ""
	case d.Reason == "":
		return "The user rejected the plan. Plan mode stays active: change the plan, or ask what is missing."
	}
	return "The user rejected the plan and wrote: " + d.Reason + "\nPlan mode stays active: change the plan."
}
