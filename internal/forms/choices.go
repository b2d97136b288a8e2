package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// AskTool is the tool with which the model asks the user questions. To answer, the user allows the
// call with the input that [AnswersInput] returns.
const AskTool = "AskUserQuestion"

// Choice is one question of the model with its options. The user can also enter an answer that is
// not an option. The model reads the texts in the jsonschema tags.
type Choice struct {
	Question string   `json:"question" jsonschema:"The whole question"`
	Header   string   `json:"header" jsonschema:"The topic, in one or two words"`
	Options  []Option `json:"options" jsonschema:"2 to 4 answers to choose from"`
	Multi    bool     `json:"multiSelect,omitempty" jsonschema:"Whether several answers can be chosen"`
}

// Option is one of the answers that the model offers.
type Option struct {
	Label       string `json:"label" jsonschema:"The answer in one to five words"`
	Description string `json:"description" jsonschema:"What the answer means or leads to"`
	Preview     string `json:"preview,omitempty" jsonschema:"What the result would look like: code, or a sketch in text"`
}

// Limits of questions, and of answers that users write themselves.
const (
	maxChoices    = 4
	minOptions    = 2
	maxOptions    = 4
	maxHeader     = 40 // characters
	maxLabel      = 200
	maxChoiceText = 4 << 10  // bytes of a question, a description, an answer
	maxPreview    = 16 << 10 // bytes
)

// CheckChoices returns what is wrong with questions, or "" if they are valid.
func CheckChoices(list []Choice) string {
	if n := len(list); n == 0 || n > maxChoices {
		return fmt.Sprintf("questions: want 1 to %d, got %d", maxChoices, n)
	}
	for i, c := range list {
		at := fmt.Sprintf("questions[%d]", i)
		if problem := checkText(at+".question", c.Question, maxChoiceText); problem != "" {
			return problem
		}
		if problem := checkText(at+".header", c.Header, 4*maxHeader); problem != "" {
			return problem
		}
		switch n := len(c.Options); {
		case utf8.RuneCountInString(c.Header) > maxHeader:
			return fmt.Sprintf("%s.header: at most %d characters", at, maxHeader)
		case slices.ContainsFunc(list[:i], func(d Choice) bool { return d.Question == c.Question }):
			return at + ": duplicate question"
		case n < minOptions || n > maxOptions:
			return fmt.Sprintf("%s.options: want %d to %d, got %d", at, minOptions, maxOptions, n)
		}
		if problem := checkOptions(at, c.Options); problem != "" {
			return problem
		}
	}
	return ""
}

func checkOptions(at string, list []Option) string {
	for i, o := range list {
		at := fmt.Sprintf("%s.options[%d]", at, i)
		if problem := checkText(at+".label", o.Label, maxLabel); problem != "" {
			return problem
		}
		switch {
		case slices.ContainsFunc(list[:i], func(p Option) bool { return p.Label == o.Label }):
			return at + ": duplicate label"
		case len(o.Description) > maxChoiceText:
			return fmt.Sprintf("%s.description: at most %d bytes", at, maxChoiceText)
		case len(o.Preview) > maxPreview:
			return fmt.Sprintf("%s.preview: at most %d bytes", at, maxPreview)
		}
	}
	return ""
}

func checkText(at, text string, most int) string {
	switch {
	case strings.TrimSpace(text) == "":
		return at + ": must not be empty"
	case len(text) > most:
		return fmt.Sprintf("%s: at most %d bytes", at, most)
	}
	return ""
}

// Choices returns the questions in the input of a call of [AskTool]. It returns nil if the input
// contains none.
func Choices(input json.RawMessage) []Choice {
	var in struct {
		Questions []Choice `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return in.Questions
}

// AnswersInput returns the input that answers the model's questions: the user's answers, keyed by
// question. An answer is the label of an option or the user's own text.
func AnswersInput(answers map[string][]string) (json.RawMessage, error) {
	values := map[string]any{}
	for question, list := range answers {
		if values[question] = list; len(list) == 1 {
			values[question] = list[0]
		}
	}
	return json.Marshal(struct {
		Answers map[string]any `json:"answers"`
	}{values})
}

// ReadAnswers returns the questions in the requested input and, keyed by question, the user's
// answers in the answer's input. There, the answer to each question is a string or a list of
// strings. The error describes an invalid answer.
func ReadAnswers(requested, answer json.RawMessage) ([]Choice, map[string][]string, error) {
	var in struct {
		Questions []Choice `json:"questions"`
	}
	if err := json.Unmarshal(requested, &in); err != nil {
		return nil, nil, err
	}
	if len(answer) == 0 {
		answer = json.RawMessage("{}")
	}
	raw, err := changedMember(requested, answer, "answers")
	if err != nil {
		return nil, nil, err
	}
	var entered map[string]any
	if raw == nil || json.Unmarshal(raw, &entered) != nil || entered == nil {
		return nil, nil, errors.New(`the answers are missing; want {"answers": {"the question": "the label of an option, or other text"}}`)
	}
	answers := map[string][]string{}
	for _, c := range in.Questions {
		v, exists := entered[c.Question]
		if !exists {
			return nil, nil, fmt.Errorf("no answer to %q", c.Question)
		}
		list, err := c.read(v)
		if err != nil {
			return nil, nil, fmt.Errorf("the answer to %q: %w", c.Question, err)
		}
		answers[c.Question] = list
	}
	for question := range entered {
		if answers[question] == nil {
			return nil, nil, fmt.Errorf("the model did not ask %q", question)
		}
	}
	return in.Questions, answers, nil
}

// read reads the answer to one question.
func (c *Choice) read(v any) (list []string, err error) {
	switch v := v.(type) {
	case string:
		list = []string{v}
	case []any:
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("want strings")
			}
			list = append(list, text)
		}
	default:
		return nil, errors.New("want a string or a list of strings")
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("choose an answer")
	case len(list) > 1 && !c.Multi:
		return nil, errors.New("only one answer can be chosen")
	case len(list) > maxOptions+1:
		return nil, fmt.Errorf("at most %d answers can be chosen", maxOptions+1)
	}
	for i, text := range list {
		if problem := checkText("a text", text, maxChoiceText); problem != "" {
			return nil, errors.New(problem)
		}
		if slices.Contains(list[:i], text) {
			return nil, fmt.Errorf("%q is chosen twice", text)
		}
	}
	return list, nil
}
