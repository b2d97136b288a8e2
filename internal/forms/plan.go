package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PlanTool is the tool with which the model presents a plan. To approve the plan, the user allows
// the call with the input that [PlanInput] returns: it has the mode for carrying out the plan. If
// the user denies the call, the message of the denial tells the model to continue planning.
const PlanTool = "ExitPlanMode"

// maxPlan is the maximum size of a plan in bytes. An approval request can show a text of this size,
// and no one should approve a text that they have not seen.
const maxPlan = 64 << 10

// planModes returns the modes (policy.Mode) in which a plan can be carried out. The first one is
// the default.
func planModes() []string { return []string{"default", "acceptEdits"} }

// Plan returns the plan in the input of a call of [PlanTool], or "" if the input has none.
func Plan(input json.RawMessage) string {
	var in struct {
		Plan string `json:"plan"`
	}
	_ = json.Unmarshal(input, &in) // an invalid input contains no plan
	return in.Plan
}

// CheckPlan returns what is wrong with a plan, or "".
func CheckPlan(plan string) string { return checkText("plan", plan, maxPlan) }

// PlanInput returns the input that approves a plan, with the mode for carrying it out.
func PlanInput(mode string) (json.RawMessage, error) {
	return json.Marshal(struct {
		Mode string `json:"mode"`
	}{mode})
}

// ReadPlan returns the plan and the mode for carrying it out, from the requested input and the
// input of the answer. The user may have replaced the plan. The error describes an invalid answer.
func ReadPlan(requested, answer json.RawMessage) (plan, mode string, err error) {
	var in struct {
		Plan *string `json:"plan"`
		Mode string  `json:"mode"`
	}
	for _, raw := range []json.RawMessage{requested, answer} {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return "", "", fmt.Errorf(`%w; want {"mode": "default" or "acceptEdits"}, and another "plan" to replace it`, err)
		}
	}
	if in.Plan == nil {
		return "", "", errors.New("the plan is missing")
	}
	if problem := CheckPlan(*in.Plan); problem != "" {
		return "", "", errors.New(problem)
	}
	if in.Mode == "" {
		in.Mode = planModes()[0]
	}
	if !slices.Contains(planModes(), in.Mode) {
		return "", "", errors.New("the mode for a plan must be " + strings.Join(planModes(), " or ") + "; to keep planning, deny the call with a message")
	}
	return *in.Plan, in.Mode, nil
}
