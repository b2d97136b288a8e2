package screentest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// gated is a script whose command works until the test opens the gate.
const gated = `
name: play
steps:
  - when: {user: "work"}
    text: I work.
    tool_uses: [{tool: Bash, input: {command: "echo it has begun; cat gate; echo done > made"}}]
  - when: {result: outcome unknown}
    text: I was interrupted.
  - when: {any: true}
    text: "It is done."
`

// transcript returns what is recorded of the only session.
func (d *desk) transcript() string {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), d.dir+"/bin/holdfast", "sessions", "export", d.session(), "--format", "markdown")
	cmd.Dir, cmd.Env = d.project, d.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("%v: %s", err, out)
	}
	_, messages, _ := strings.Cut(string(out), "\n## 1.") // without the title
	return messages
}

// inOrder checks that each of the lines is in a text once, in their order.
func (d *desk) inOrder(text string, lines []string) {
	d.Helper()
	at := 0
	for _, l := range lines {
		if n := strings.Count(text, l); n != 1 {
			d.Fatalf("%q is there %d times in\n%s", l, n, text)
		}
		next := strings.Index(text, l)
		if next < at {
			d.Fatalf("%q is in the wrong place in\n%s", l, text)
		}
		at = next
	}
}

// A hundred lines that are typed during a run reach the model in their order, and none the shell.
func TestTyping(t *testing.T) {
	d := newDesk(t, gated)
	open := d.gate()
	w := d.open("one", 80, 24)
	w.command("holdfast --permission-mode bypassPermissions 'work please'; cat")
	var lines, keys []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d of many.", i))
	}
	for _, l := range lines {
		keys = append(keys, l, "Enter")
	}
	w.press(keys[:40]...) // some of them before the program reads
	w.shows("it has begun")
	w.press(keys[40:]...)
	w.shows("line 99 of many.  queued")
	w.press("C-d")
	w.shows("holdfast attach")
	w.types("for cat")
	w.press("Enter")
	w.shows("for cat\nfor cat")
	w.press("C-d")
	w.shellIsBack()
	open()
	d.until("the command", func() bool { return d.exists("made") })
	w.command("holdfast -c")
	w.shows("It is done.", "line 99 of many.")
	d.inOrder(d.transcript(), lines)
}
