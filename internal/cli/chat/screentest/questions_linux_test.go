package screentest

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
)

const calc = `package calc

// Add returns the sum of two numbers.
func Add(a, b int) int {
	return a - b
}

// Div returns a quotient, or 0.
func Div(a, b int) int {
	if b == 0 {
		return 0
	}
	return a / b
}
`

const fixes = `
name: play
context: 200000
steps:
  - when: {user: "fix"}
    text: The sign is wrong.
    tool_uses: [{tool: Read, input: {file_path: calc.go}}]
  - when: {tool: Read}
    text: I change it.
    tool_uses: [{tool: Edit, input: {file_path: calc.go, old_string: "\treturn a - b\n", new_string: "\t// The sum, for which overflow is not checked.\n\treturn a + b\n"}}]
  - when: {tool: Edit}
    text: Add is right now.
  - when: {any: true}
    text: All right.
`

// A question about an edit, its diff, and the way back.
func TestEdit(t *testing.T) {
	atSizes(t, fixes, func(w *terminal, name func(string) string) {
		w.write("calc.go", calc)
		w.holdfast("")
		w.says("fix Add")
		w.shows("calc.go\n  change") // the question
		w.golden(name("question"))
		if strings.Contains(w.screen(), "read to the end to answer") { // the screen is low
			w.answer(" ")
			w.shows("allow once")
			w.golden(name("read"))
		}
		w.answer("y")
		w.shows("Add is right now.", "3 model calls")
		w.golden(name("diff"))
		w.says("thank you")
		w.shows("All right.", "1 model call")
		w.press("Escape")
		w.shows("press esc again")
		w.press("Escape")
		w.shows("go back to before")
		w.golden(name("messages"))
		w.press("Down", "Enter")
		w.shows("conversation and files")
		w.golden(name("rewind"))
		w.press("Enter")
		w.shows("> fix Add")
		if got := w.read("calc.go"); got != calc {
			w.Errorf("the file was not restored: %s", got)
		}
	})
}

func TestEditColors(t *testing.T) {
	for _, theme := range []string{"dark", "light"} {
		t.Run(theme, func(t *testing.T) {
			w := newDesk(t, fixes).open("one", 80, 40)
			w.write("calc.go", calc)
			w.holdfast("")
			w.says("/theme " + theme)
			w.shows("theme " + theme + ": saved in")
			w.shows("ask for something")
			w.says("fix Add")
			w.shows("allow once")
			w.goldenColors("question." + theme)
			w.answer("y")
			w.shows("Add is right now.", "3 model calls")
			w.goldenColors("diff." + theme)
		})
	}
}

const threeAgents = `
name: play
context: 200000
steps:
  - when: {user: "all parts"}
    text: I ask three agents.
    tool_uses:
      - {tool: Agent, input: {description: count the files, prompt: part one}}
      - {tool: Agent, input: {description: read the tests, prompt: part two}}
      - {tool: Agent, input: {description: look for mistakes, prompt: part three}}
  - when: {user: part one}
    tool_uses: [{tool: Bash, input: {command: touch one}}]
  - when: {user: part two}
    delay: {before: 400ms}
    tool_uses: [{tool: Bash, input: {command: touch two}}]
  - when: {user: part three}
    delay: {before: 800ms}
    tool_uses: [{tool: Bash, input: {command: touch three}}]
  - when: {tool: Bash}
    text: My part is done.
  - when: {tool: Agent}
    text: All parts are done.
`

// The questions of three agents are answered one after the other.
func TestInbox(t *testing.T) {
	atSizes(t, threeAgents, func(w *terminal, name func(string) string) {
		w.holdfast("")
		w.says("do all parts")
		w.shows("1 of 3")
		w.golden(name("inbox"))
		w.press("C-g")
		w.shows("3 questions wait · ctrl-g", "count the files", "read the tests", "look for mistakes")
		w.press("C-g")
		w.shows("1 of 3")
		w.press("Right")
		w.shows("2 of 3", "touch two")
		w.answer("n")
		w.shows("1 of 2", "touch one")
		w.answer("y")
		w.hides("1 of 2")
		w.shows("touch three")
		w.answer("y")
		w.shows("All parts are done.")
		if w.exists("two") || !w.exists("one") || !w.exists("three") {
			w.Errorf("made: one %v, two %v, three %v", w.exists("one"), w.exists("two"), w.exists("three"))
		}
	})
}

const twoCommands = `
name: play
steps:
  - when: {user: "make"}
    text: I make two files.
    tool_uses: [{tool: Bash, input: {command: touch first}}]
  - {when: {after: "#1"}, tool_uses: [{tool: Bash, input: {command: touch second}}]}
  - when: {any: true}
    text: "That was {{last_result}}"
`

// Two terminals and a client of the HTTP API show the same session, and an answer of one removes the
// question of the others.
func TestTwoTerminals(t *testing.T) {
	d := newDesk(t, twoCommands)
	one, two := d.open("one", 80, 24), d.open("two", 100, 30)
	one.holdfast("")
	one.says("make them")
	one.shows("allow once", "touch first")
	two.command("holdfast attach")
	two.shows("make them", "I make two files.", "allow once", "touch first")
	c := d.client()
	q := d.question(c)
	if _, err := c.Decide(t.Context(), q.ID, api.Decision{Decision: approval.Allow, Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*terminal{one, two} {
		w.shows("touch second", "allow once")
		if s := w.screen(); strings.Count(s, "allow once") != 1 {
			t.Errorf("the answered question is still there:\n%s", s)
		}
	}
	for _, w := range []*terminal{one, two} {
		w.press("C-g") // the keys are for the box
		w.shows("1 question waits · ctrl-g")
	}
	two.says("and a message for it")
	for _, w := range []*terminal{one, two} {
		w.shows("and a message for it  queued")
	}
	one.press("C-g")
	one.shows("allow once")
	one.answer("n")
	for _, w := range []*terminal{one, two} {
		w.shows("That was", "3 model calls")
		w.hides("question waits")
		if s := w.all(); strings.Count(s, "▌ and a message for it") != 1 || strings.Count(s, "I make two files.") != 1 || strings.Count(s, "That was") != 1 {
			t.Errorf("the session in %s:\n%s", w.name, s)
		}
	}
	if !d.exists("first") || d.exists("second") {
		t.Errorf("made: first %v, second %v", d.exists("first"), d.exists("second"))
	}
}

// question waits for an open question.
func (d *desk) question(c *client.Client) (q approval.Request) {
	d.Helper()
	d.until("a question", func() bool {
		page, err := c.Approvals(d.Context(), client.ListOptions{})
		if err != nil {
			d.Fatal(err)
		}
		if len(page.Items) > 0 {
			q = page.Items[0].Request
		}
		return len(page.Items) > 0
	})
	return q
}
