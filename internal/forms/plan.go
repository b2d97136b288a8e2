package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PlanTool is the tool with which the model presents a plan. Allowing its call sets the mode for
// carrying out the plan, as [PlanInput] writes it. A denial's message tells the model to keep
// planning.
const PlanTool = "ExitPlanMode"

// maxPlan is the maximum size of a plan in bytes. An approval request can show this many bytes, and
// no one should approve a text that they have not seen.
const maxPlan = 64 << 10

// planModes are the modes (policy.Mode) in which a plan can be carried out, the default first.
func planModes() []string { return []string{"default", "acceptEdits"} }

// Plan returns the plan in the input of a call of [PlanTool]; "" if it has none.
func Plan(input json.RawMessage) string {
	var in struct {
		Plan string `json:"plan"`
	}
	_ = json.Unmarshal(input, &in) // an invalid input has no plan
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

// ReadPlan reads the plan, which the user may have replaced, and the mode for carrying it out from
// the requested input and the answer's input. The error describes an invalid answer.
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
