package approval

import (
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/policy"
)

// asksUser reports whether the request contains questions of the model for the user.
func (q *Request) asksUser() bool {
	return q.Tool == forms.AskTool && q.Person() && forms.Choices(q.Requests[0].Input) != nil
}

// hasForm reports whether the request contains a form for the user.
func (q *Request) hasForm() bool {
	return len(q.Requests) == 1 && q.Requests[0].Form && q.Requests[0].Person
}

// Plan returns the plan to approve, or "" if the request is about something else.
func (q *Request) Plan() string {
	if q.Tool != forms.PlanTool || !q.Person() {
		return ""
	}
	return forms.Plan(q.Requests[0].Input)
}

// PlanInput returns the input of an allow for a plan, with the permission mode in which the plan is
// carried out.
func (q *Request) PlanInput(mode policy.Mode) (json.RawMessage, error) {
	if q.Plan() == "" {
		return nil, errors.New("the approval request has no plan")
	}
	return forms.PlanInput(string(mode))
}

// AnswersInput returns the input of an allow for questions of the model. The keys of the map are
// the questions; the answers are labels of options or free text.
func (q *Request) AnswersInput(answers map[string][]string) (json.RawMessage, error) {
	if !q.asksUser() {
		return nil, errors.New("the approval request has no questions for the user")
	}
	return forms.AnswersInput(answers)
}

// checkPerson checks that an allow has the input that a call for the user needs: answers, a form or
// a plan.
func (a *Answer) checkPerson(q Request) error {
	if !a.Decision.Allows() {
		return nil
	}
	switch {
	case q.asksUser():
		if _, _, err := forms.ReadAnswers(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v", err)
		}
	case q.hasForm():
		if _, err := forms.ReadForm(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v; hint: fill in the fields: {\"content\": {\"name of a field\": \"its value\"}} as the input of the allow", err)
		}
	case q.Plan() != "" && a.Input != nil:
		if _, _, err := forms.ReadPlan(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v", err)
		}
	}
	return nil
}
