package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// hookRan shows hooks' messages to the user; with --verbose also which hooks ran.
func (v *Text) hookRan(e event.HookRan) {
	if v.Verbose {
		for _, r := range e.Ran.Hooks {
			what := cmp.Or(r.Effect, "done")
			if r.Error != "" {
				what = "failed"
			}
			if r.Exit != nil && *r.Exit != 0 {
				what += fmt.Sprintf(", exit %d", *r.Exit)
			}
			v.note("hook %s %s: %s, %s", e.Ran.Event, runtext.HookLabel(r.Name), what, term.Elapsed(time.Duration(r.Millis)*time.Millisecond))
		}
	}
	for _, text := range runtext.KeepsWorking(e.Ran) {
		v.note("%s", text)
	}
	for _, n := range e.Ran.Messages {
		v.notice(e.Ran, n)
	}
}

// terminal writes the terminal sequences of hooks. They were already checked: they do not move the
// cursor.
func (v *Text) terminal(e event.TerminalSequences) {
	if v.Program.Err.TTY && !v.Program.Err.Dumb {
		for _, seq := range e.Sequences {
			_ = v.Program.Err.Bytes([]byte(seq))
		}
	}
}

// notice prints a hook's message. If the same hook fails in the same way again, the failure is not
// printed in full, because a hook that runs at every call would fill the screen.
func (v *Text) notice(ran record.HookRan, n record.HookNotice) {
	if v.Quiet {
		return
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(n.Text), "\n")
	if runtext.HookFailed(ran, n) {
		if v.failures[n] {
			v.note("hook %s: failed again with the same error", runtext.HookLabel(n.Hook))
			return
		}
		if v.failures == nil {
			v.failures = map[record.HookNotice]bool{}
		}
		v.failures[n] = true
	}
	v.note("hook %s: %s", runtext.HookLabel(n.Hook), first)
	for line := range strings.Lines(rest) {
		v.Program.Err.Line("%s", v.Program.Err.Dim("    "+term.Escape(strings.TrimRight(line, "\r\n"))))
	}
}

// notified prints a notification.
func (v *Text) notified(e event.Notification) {
	if v.Quiet && e.Level != "error" {
		return
	}
	t := v.Program.Err.Style
	style := t.Dim
	switch e.Level {
	case "warning":
		style = t.Yellow
	case "error":
		style = t.Red
	}
	v.endThinking()
	v.Program.Err.Line("%s", style("· "+term.Escape(term.OneLine(runtext.Notified(e)))))
}
