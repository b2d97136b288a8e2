package screentest

import (
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/client"
)

const crashes = `
name: play
steps:
  - when: {user: "stream"}
    chunk: 4
    delay: {chunk: 70ms}
    text: "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five. The stream ends."
  - when: {user: "work"}
    text: I work.
    tool_uses: [{tool: Bash, input: {command: "cat gate; echo it is open"}}]
  - when: {user: "ask"}
    text: I ask.
    tool_uses: [{tool: Bash, input: {command: "touch made"}}]
  - when: {result: outcome unknown}
    text: I was interrupted.
  - when: {any: true}
    text: "That is all."
`

// session returns the id of the only session.
func (d *desk) session() string {
	d.Helper()
	page, err := d.client().Sessions(d.Context(), client.ListOptions{})
	if err != nil || len(page.Items) != 1 {
		d.Fatalf("%+v: %v", page, err)
	}
	return page.Items[0].ID
}

// Everything that was acknowledged survives kill -9 of the terminal's program, of the daemon and of
// both: messages, questions and what is queued.
func TestKilled(t *testing.T) {
	for _, what := range []string{"stream", "work", "ask"} {
		for _, who := range []string{"terminal", "daemon", "both"} {
			if testing.Short() && (who != "both" || what == "stream") {
				continue
			}
			t.Run(what+" "+who, func(t *testing.T) { testKilled(t, what, who) })
		}
	}
}

func testKilled(t *testing.T, what, who string) {
	d := newDesk(t, crashes)
	open := d.gate()
	w := d.open("one", 80, 24)
	w.holdfast("--allowed-tools 'Bash(cat gate)' --allowed-tools 'Bash(echo it is open)'")
	w.says("first " + what)
	switch what {
	case "stream":
		w.shows("three four")
	case "work":
		w.shows("cat gate")
	case "ask":
		w.shows("allow once")
		w.press("C-g")
		w.shows("1 question waits")
	}
	w.says("for later")
	w.shows("for later  queued")
	if who != "terminal" {
		if err := syscall.Kill(d.daemon(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if who != "daemon" {
		if err := syscall.Kill(w.program(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.shows("Killed")
		w.types("stty sane; clear; echo sane") // the terminal is still raw
		w.press("C-j")
		w.waits("a clear screen", func(screen string) bool { return screen == "sane\n$" })
		w.command("holdfast attach")
		w.shows("first " + what)
	}
	working := who == "terminal"
	switch {
	case what == "ask":
		if who == "daemon" {
			w.shows("1 question waits", "for later  queued")
			w.press("C-g")
		}
		w.shows("allow once", "touch made")
		w.answer("y")
		d.until("the command", func() bool { return d.exists("made") })
	case what == "work" && working:
		w.shows("for later  queued")
		open()
	case !working:
		w.shows("interrupted", "for later  queued")
		w.says("go on")
	}
	w.shows("▌ for later")
	if what == "work" && !working {
		w.shows("I was interrupted.")
	} else {
		w.shows("That is all.")
	}
	w.hides("queued")
	if s := w.all(); strings.Contains(s, "does not use the daemon") {
		t.Errorf("no new daemon was started:\n%s", s)
	}
	d.inOrder(d.transcript(), []string{"first " + what, "for later"})
	if s := w.all(); who == "daemon" && strings.Count(s, "first "+what) != 1 {
		t.Errorf("shown twice:\n%s", s)
	}
}
