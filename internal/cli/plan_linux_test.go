package cli

import (
	"strings"
	"testing"
)

// dialog is what the screen must show and what is then typed, in turn. Nothing is typed for "",
// and the terminal is closed for hangUp.
type dialog []string

const hangUp = "hang up"

func (d dialog) hold(c *terminal) {
	c.t.Helper()
	for i := 0; i < len(d); i += 2 {
		c.expect(d[i])
		switch typed := d[i+1]; typed {
		case "":
		case hangUp:
			if err := c.master.Close(); err != nil {
				c.t.Fatal(err)
			}
		default:
			c.press(typed)
		}
	}
}

func TestPlanInTerminal(t *testing.T) {
	const keys, why = `deny and stop: $`, `what should change: $`
	for name, tt := range map[string]struct {
		dialog dialog
		code   int
		want   string
	}{
		"allow":                   {dialog{keys, "y"}, 0, `it said: The user approved the plan\. Carry it out; the permission mode is default`},
		"allow, edit freely":      {dialog{keys, "e"}, 0, `it said: The user approved the plan\. Carry it out; the permission mode is acceptEdits`},
		"deny":                    {dialog{keys, "n"}, 0, `The user rejected the plan\. Plan mode stays active`},
		"deny and say why":        {dialog{keys, "m", why, "also test it\r"}, 0, `it said: [^\n]*also test it`},
		"stop":                    {dialog{keys, "s"}, 3, `interrupted`},
		"other keys decide none":  {dialog{keys, "\r", `press one of the keys above`, "", keys, "a", keys, "y"}, 0, `the permission mode is default`},
		"the terminal is closed":  {dialog{keys, hangUp}, 3, ""},
		"deny without a reason":   {dialog{keys, "m", why, "\r"}, 0, `The user rejected the plan\. Plan mode stays active`},
		"the plan is shown whole": {dialog{`1\. write a\.txt`, "", `2\. \\x1b\[31m test it`, "", keys, "n"}, 0, `it said: `},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, `
steps:
  - tool_uses: [{id: u1, tool: ExitPlanMode, input: {plan: "1. write a.txt\n2. \e[31m test it"}}]
  - text: "it said: {{last_result}}"
`)
			c := startTerminal(t, env, dir, "run", "--permission-mode", "plan", "go")
			tt.dialog.hold(c)
			c.expect(tt.want)
			if code := c.exit(); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, c.screen())
			}
		})
	}
}

func TestModelsQuestionsInTerminal(t *testing.T) {
	const (
		one   = `{question: "Which color?", header: Color, options: [{label: Red, description: warm, preview: "<red>"}, {label: Blue, description: cold}]}`
		many  = `{question: "Which days?", header: Days, multiSelect: true, options: [{label: Monday, description: first}, {label: Tuesday, description: second}, {label: Friday, description: last}]}`
		keys  = `and stop: $`
		lines = `numbers, such as 1 3: $`
	)
	for name, tt := range map[string]struct {
		questions string
		dialog    dialog
		code      int
		want      string
	}{
		"by its number":          {one, dialog{`Which color\?`, "", `1 +Red +warm`, "", `<red>`, "", `2 +Blue +cold`, "", keys, "2"}, 0, `"Which color\?" = "Blue"`},
		"with other words":       {one, dialog{keys, "o", `your answer: $`, "  green  \r"}, 0, `"Which color\?" = "green"`},
		"empty words are none":   {one, dialog{keys, "o", `your answer: $`, "\r", keys, "1"}, 0, `"Which color\?" = "Red"`},
		"other keys choose none": {one, dialog{keys, "3", `press one of the keys above`, "", keys, "\r", keys, "c", keys, "1"}, 0, `"Red"`},
		"no answer":              {one, dialog{keys, "n"}, 0, `it said: `},
		"no answer, and stop":    {one, dialog{keys, "s"}, 3, `interrupted`},
		"the terminal is closed": {one, dialog{keys, hangUp}, 3, ""},
		"several":                {many, dialog{keys, "c", lines, "3, 1 3\r"}, 0, `"Which days\?" = "Friday", "Monday"`},
		"one of several":         {many, dialog{keys, "2", keys, "c"}, 0, `"Which days\?" = "Tuesday"`},
		"a number too high":      {many, dialog{keys, "c", lines, "1 4\r", `"4" is not one of 1-3`, "", keys, "c", lines, "1\r"}, 0, `"Monday"`},
		"two questions": {one + ", " + many, dialog{
			`1 of 2 +Color`, "", keys, "1", `2 of 2 +Days`, "", keys, "1", keys, "c", `Color +Red`, "", `Days +Monday`, "", keys, "x", keys, "y",
		}, 0, `"Which color\?" = "Red"[^=]*"Which days\?" = "Monday"`},
		"two, and changed":       {one + ", " + many, dialog{keys, "1", keys, "1", keys, "c", keys, "b", keys, "2", keys, "2", keys, "c", keys, "y"}, 0, `"Blue"[^=]*= "Tuesday"`},
		"two, and none sent":     {one + ", " + many, dialog{keys, "1", keys, "1", keys, "c", keys, "n"}, 0, `it said: `},
		"two, stopped at second": {one + ", " + many, dialog{keys, "1", keys, "s"}, 3, `interrupted`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, `
steps:
  - tool_uses: [{id: u1, tool: AskUserQuestion, input: {questions: [`+tt.questions+`]}}]
  - text: "it said: {{last_result}}"
`)
			c := startTerminal(t, env, dir, "run", "go")
			tt.dialog.hold(c)
			c.expect(tt.want)
			code := c.exit()
			if code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, c.screen())
			}
			if declined := strings.HasPrefix(tt.want, "it said"); declined && strings.Contains(c.screen(), `" = "`) {
				t.Errorf("an answer was sent\n%s", c.screen())
			}
		})
	}
}
