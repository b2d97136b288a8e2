package forms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PlanTool is the tool whose calls put a plan to a person. A yes says in which mode to go
// on, as [PlanInput] writes it; a no, with a message, is for the model to plan on.
const PlanTool = "ExitPlanMode"

// maxPlan bounds a plan, in bytes. It is what a question shows at most: nobody agrees to what
// he has not seen.
const maxPlan = 64 << 10

// planModes are the modes (policy.Mode) in which a plan can be carried out, the usual one first.
func planModes() []string { return []string{"default", "acceptEdits"} }

// Plan is the plan in the input of a call of [PlanTool]; "" when it has none.
func Plan(input json.RawMessage) string {
	var in struct {
		Plan string `json:"plan"`
	}
	_ = json.Unmarshal(input, &in) // what cannot be read is no plan
	return in.Plan
}

// CheckPlan says what is wrong with a plan, or "".
func CheckPlan(plan string) string { return checkText("plan", plan, maxPlan) }

// PlanInput is the input of a yes to a plan, with the mode in which the person wants it
// carried out.
func PlanInput(mode string) (json.RawMessage, error) {
	return json.Marshal(struct {
		Mode string `json:"mode"`
	}{mode})
}

// ReadPlan reads the plan, which the person may have put another in place of, and the
// mode to go on in out of the input that was asked about and the one that he has given.
// The error says what does not fit.
func ReadPlan(asked, given json.RawMessage) (plan, mode string, err error) {
	var in struct {
		Plan *string `json:"plan"`
		Mode string  `json:"mode"`
	}
	for _, raw := range []json.RawMessage{asked, given} {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return "", "", fmt.Errorf(`%w; want {"mode": "default" or "acceptEdits"}, with another "plan" if it is to be changed`, err)
		}
	}
	if in.Plan == nil {
		return "", "", errors.New("the plan is missing")
	}
	if wrong := CheckPlan(*in.Plan); wrong != "" {
		return "", "", errors.New(wrong)
	}
	if in.Mode == "" {
		in.Mode = planModes()[0]
	}
	if !slices.Contains(planModes(), in.Mode) {
		return "", "", errors.New("a plan is carried out in the mode " + strings.Join(planModes(), " or ") + "; to plan on, say no and why")
	}
	return *in.Plan, in.Mode, nil
}
