package approval

import (
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/policy"
)

// asksUser reports whether the question puts questions of the model to the user.
func (q *Request) asksUser() bool {
	return q.Tool == forms.AskTool && q.Person() && forms.Choices(q.Requests[0].Input) != nil
}

// hasForm reports whether the question puts a form to a person.
func (q *Request) hasForm() bool {
	return len(q.Requests) == 1 && q.Requests[0].Form && q.Requests[0].Person
}

// Plan is the plan that a question is about; "" when it is about something else.
func (q *Request) Plan() string {
	if q.Tool != forms.PlanTool || !q.Person() {
		return ""
	}
	return forms.Plan(q.Requests[0].Input)
}

// PlanInput is the input of a yes to a plan, with the mode in which the person wants it
// carried out.
func (q *Request) PlanInput(mode policy.Mode) (json.RawMessage, error) {
	if q.Plan() == "" {
		return nil, errors.New("it puts no plan to a person")
	}
	return forms.PlanInput(string(mode))
}

// AnswersInput is the input of a yes to questions of the model: the person's answers, by
// question, which are the labels of options or other words.
func (q *Request) AnswersInput(answers map[string][]string) (json.RawMessage, error) {
	if !q.asksUser() {
		return nil, errors.New("it asks the user nothing")
	}
	return forms.AnswersInput(answers)
}

// checkPerson looks whether a yes brings what the call that only a person decides about
// needs.
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
			return invalid("%v; hint: fill in the fields: {\"content\": {\"name of a field\": \"its value\"}} as the input of an allow", err)
		}
	case q.Plan() != "" && a.Input != nil:
		if _, _, err := forms.ReadPlan(q.Requests[0].Input, a.Input); err != nil {
			return invalid("%v", err)
		}
	}
	return nil
}
