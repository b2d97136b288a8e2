package ask_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/tool/ask"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

const twoQuestions = `{"questions":[
	{"question":"Which store?","header":"Store","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres","description":"a server"}]},
	{"question":"Which days?","header":"Days","multiSelect":true,"options":[{"label":"Mon","description":"first"},{"label":"Tue","description":"second"}]}]}`

// run has a model ask with an input, and returns the result that it reads.
func run(t testing.TB, o *agent.Options, input string) (text string, isError bool) {
	t.Helper()
	asker, err := ask.New()
	if err != nil {
		t.Fatal(err)
	}
	if o.Tools, err = tool.NewRegistry(asker); err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(fmt.Appendf(nil, "steps: [{tool_uses: [{tool: %s, raw_input: %q}]}, {text: ok}]", forms.AskTool, input), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "ok" {
		t.Fatalf("%+v %v", res, err)
	}
	for _, e := range a.Snapshot().Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				text, isError = transcript.Item{Parts: r.Content}.Text(), r.IsError
			}
		}
	}
	return text, isError
}

func answerWith(answers map[string][]string) func(context.Context, approval.Request) (approval.Answer, error) {
	return func(_ context.Context, q approval.Request) (approval.Answer, error) {
		in, err := q.AnswersInput(answers)
		return approval.Answer{Decision: approval.Allow, Input: in}, err
	}
}

var validAnswers = map[string][]string{"Which store?": {"my own words"}, "Which days?": {"Mon", "Tue"}}

// In every mode a person is asked, or nobody.
func TestUserAnswers(t *testing.T) {
	for _, mode := range policy.Modes() {
		asked := 0
		o := &agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: mode}}}
		o.Permissions.Ask = func(ctx context.Context, q approval.Request) (approval.Answer, error) {
			asked++
			return answerWith(validAnswers)(ctx, q)
		}
		got, failed := run(t, o, twoQuestions)
		if mode == policy.ModeDontAsk || mode == policy.ModeSilent || mode == policy.ModeRestricted {
			if asked > 0 || !failed || !strings.Contains(got, "and continue") {
				t.Errorf("%s: asked %d times, %q", mode, asked, got)
			}
			continue
		}
		if want := "The user has answered:\n\"Which store?\" = \"my own words\"\n\"Which days?\" = \"Mon\", \"Tue\""; asked != 1 || failed || got != want {
			t.Errorf("%s: asked %d times, %q", mode, asked, got)
		}
	}
}

func TestDenied(t *testing.T) {
	deny := func(message string) func(context.Context, approval.Request) (approval.Answer, error) {
		return func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{Decision: approval.Deny, Message: message}, nil
		}
	}
	for want, o := range map[string]*agent.Options{
		"declined to answer":                  {Permissions: agent.Permissions{Ask: deny("")}},
		"and wrote: ask me tomorrow":          {Permissions: agent.Permissions{Ask: deny("ask me tomorrow")}},
		"No one is available to answer":       {},
		"permission denied: rule":             {Permissions: agent.Permissions{Ask: answerWith(validAnswers), Config: policy.Config{Policies: []policy.NamedPolicy{{Name: "rule", Policy: denyAll{}}}}}},
		"no answer to":                        {Permissions: agent.Permissions{Ask: answerWith(map[string][]string{"Which store?": {"SQLite"}})}},
		"only one answer can be chosen":       {Permissions: agent.Permissions{Ask: answerWith(map[string][]string{"Which store?": {"SQLite", "Postgres"}, "Which days?": {"Mon"}})}},
		`the model did not ask "Who?"`:        {Permissions: agent.Permissions{Ask: answerWith(map[string][]string{"Which store?": {"SQLite"}, "Which days?": {"Mon"}, "Who?": {"me"}})}},
		"the answers are missing":             {Permissions: agent.Permissions{Ask: allowUnanswered}},
		"may differ from the requested input": {Permissions: agent.Permissions{Ask: allowReplaced}},
		"want a string or a list of strings":  {Permissions: agent.Permissions{Ask: answerRaw(`{"Which store?":7,"Which days?":"Mon"}`)}},
		"must not be empty":                   {Permissions: agent.Permissions{Ask: answerRaw(`{"Which store?":" ","Which days?":"Mon"}`)}},
		"chosen twice":                        {Permissions: agent.Permissions{Ask: answerRaw(`{"Which store?":"x","Which days?":["Mon","Mon"]}`)}},
	} {
		if got, failed := run(t, o, twoQuestions); !failed || !strings.Contains(got, want) {
			t.Errorf("%q, want something about %q", got, want)
		}
	}
}

type denyAll struct{}

func (denyAll) Evaluate(policy.Request) policy.Verdict {
	return policy.Verdict{Effect: policy.Deny, Reason: "rule"}
}

func allowUnanswered(context.Context, approval.Request) (approval.Answer, error) {
	return approval.Answer{Decision: approval.Allow}, nil
}

func allowReplaced(context.Context, approval.Request) (approval.Answer, error) {
	return approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"questions":[],"answers":{}}`)}, nil
}

func answerRaw(answers string) func(context.Context, approval.Request) (approval.Answer, error) {
	return func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{Decision: approval.Allow, Input: json.RawMessage(`{"answers":` + answers + `,` + twoQuestions[1:])}, nil
	}
}

// Nobody but the person who was asked gives the answers.
func TestForgedAnswersRejected(t *testing.T) {
	forged := `{"answers":{"Which store?":"SQLite","Which days?":"Mon"},` + twoQuestions[1:]
	if got, failed := run(t, &agent.Options{Permissions: agent.Permissions{Ask: allowUnanswered}}, forged); !failed || !strings.Contains(got, "only the user can set them") {
		t.Errorf("the model: %q", got)
	}
	callback := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(forged)}, nil
	}
	if got, failed := run(t, &agent.Options{Permissions: agent.Permissions{Ask: allowUnanswered, Config: policy.Config{CanUseTool: callback}}}, twoQuestions); !failed || strings.Contains(got, "has answered") {
		t.Errorf("a callback: %q", got)
	}
	for _, event := range []hook.Event{hook.PreToolUse, hook.PermissionRequest} {
		hooks := hook.New(nil)
		defer hooks.Close()
		if err := hooks.HandleFunc(event, "", func(context.Context, hook.Input) (*hook.Output, error) {
			return &hook.Output{Permission: "allow", Input: json.RawMessage(forged)}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if got, failed := run(t, &agent.Options{Permissions: agent.Permissions{Ask: allowUnanswered}, Hooks: agent.Hooks{Registry: hooks}}, twoQuestions); !failed || strings.Contains(got, "has answered") {
			t.Errorf("a %s hook: %q", event, got)
		}
	}
}

func TestInvalidQuestions(t *testing.T) {
	option := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"label":"l%d","description":""}`, i))
		}
		return strings.Join(list, ",")
	}
	question := func(text, header string, options int) string {
		return fmt.Sprintf(`{"question":%q,"header":%q,"options":[%s]}`, text, header, option(options))
	}
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, question(fmt.Sprint("q", i), "h", 2))
		}
		return strings.Join(list, ",")
	}
	for name, questions := range map[string]string{
		"none": "", "five": many(5), "one option": question("q", "h", 1), "five options": question("q", "h", 5),
		"twice": question("q", "h", 2) + "," + question("q", "g", 2), "no text": question(" ", "h", 2), "no header": question("q", "", 2),
		"a long header": question("q", strings.Repeat("h", 41), 2), "a long text": question(strings.Repeat("q", 5000), "h", 2),
		"labels twice": `{"question":"q","header":"h","options":[{"label":"a","description":""},{"label":"a","description":""}]}`,
		"unknown":      `{"question":"q","header":"h","more":1,"options":[` + option(2) + `]}`,
	} {
		asked := &agent.Options{Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) {
			t.Error(name, "is asked")
			return approval.Answer{Decision: approval.Deny}, nil
		}}}
		if got, failed := run(t, asked, `{"questions":[`+questions+`]}`); !failed {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func ExampleNew() {
	t, err := ask.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	reqs, err := t.Requests(&tool.Call{Input: json.RawMessage(twoQuestions)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(reqs[0].Person, "\n", reqs[0].Display)
	// Output:
	// true
	// Store: Which store?
	//   - SQLite: one file
	//   - Postgres: a server
	//
	// Days: Which days? (multiple choice)
	//   - Mon: first
	//   - Tue: second
}
