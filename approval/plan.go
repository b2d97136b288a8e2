package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// PlanTool is the tool whose calls put a plan to a person. A yes says in which mode to go
// on, as [Question.PlanInput] writes it; a no, with a message, is for the model to plan on.
const PlanTool = "ExitPlanMode"

// maxPlan bounds a plan, in bytes. It is what is shown at most: nobody agrees to what he
// has not seen.
const maxPlan = maxShown

// planModes are the modes in which a plan can be carried out, the usual one first.
func planModes() []policy.Mode { return []policy.Mode{policy.ModeDefault, policy.ModeAcceptEdits} }

// Plan is the plan that a question is about; "" when it is about something else.
func (q *Question) Plan() string {
	if q.Tool != PlanTool || !q.Person() {
		return ""
	}
	var in struct {
		Plan string `json:"plan"`
	}
	_ = json.Unmarshal(q.Requests[0].Input, &in) // what cannot be read is no plan
	return in.Plan
}

// CheckPlan says what is wrong with a plan, or "".
func CheckPlan(plan string) string { return checkText("plan", plan, maxPlan) }

// PlanInput is the input of a yes to a plan, with the mode in which the person wants it
// carried out.
func (q *Question) PlanInput(mode policy.Mode) (json.RawMessage, error) {
	if q.Plan() == "" {
		return nil, errors.New("it puts no plan to a person")
	}
	return json.Marshal(struct {
		Mode policy.Mode `json:"mode"`
	}{mode})
}

// ReadPlan reads the plan, which the person may have put another in place of, and the
// mode to go on in out of the input that was asked about and the one that he has given.
// The error says what does not fit.
func ReadPlan(asked, given json.RawMessage) (plan string, mode policy.Mode, err error) {
	var in struct {
		Plan *string     `json:"plan"`
		Mode policy.Mode `json:"mode"`
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
		in.Mode = policy.ModeDefault
	}
	if !slices.Contains(planModes(), in.Mode) {
		var names []string
		for _, m := range planModes() {
			names = append(names, string(m))
		}
		return "", "", errors.New("a plan is carried out in the mode " + strings.Join(names, " or ") + "; to plan on, say no and why")
	}
	return *in.Plan, in.Mode, nil
}

// checkPerson looks whether a yes brings what the call that only a person decides about
// needs.
func (a *Answer) checkPerson(q Question) error {
	if !a.Decision.Allows() {
		return nil
	}
	switch {
	case q.Choices() != nil:
		if _, _, err := ReadAnswers(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v", err)
		}
	case q.hasForm():
		if _, err := ReadForm(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v; hint: fill in the fields: {\"content\": {\"name of a field\": \"its value\"}} as the input of an allow", err)
		}
	case q.Plan() != "" && a.Input != nil:
		if _, _, err := ReadPlan(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v", err)
		}
	}
	return nil
}
