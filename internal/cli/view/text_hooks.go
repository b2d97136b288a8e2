package view

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
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
			v.note("hook %s %s: %s, %s", e.Ran.Event, HookLabel(r.Name), what, term.Elapsed(time.Duration(r.Millis)*time.Millisecond))
		}
	}
	for _, r := range e.Ran.Hooks {
		if r.Effect == "block" && (e.Ran.Event == string(hook.Stop) || e.Ran.Event == string(hook.SubagentStop)) {
			v.note("hook %s keeps the agent working: %s", HookLabel(r.Name), cmp.Or(r.Reason, "continue"))
		}
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
	if slices.ContainsFunc(ran.Hooks, func(r record.HookRun) bool { return r.Name == n.Hook && r.Error != "" }) {
		if v.failures[n] {
			v.note("hook %s: failed again with the same error", HookLabel(n.Hook))
			return
		}
		if v.failures == nil {
			v.failures = map[record.HookNotice]bool{}
		}
		v.failures[n] = true
	}
	v.note("hook %s: %s", HookLabel(n.Hook), first)
	for line := range strings.Lines(rest) {
		v.Program.Err.Line("%s", v.Program.Err.Dim("    "+term.Escape(strings.TrimRight(line, "\r\n"))))
	}
}

// projectDir matches the variable for the project's folder in hook commands.
var projectDir = lazyregexp.Must(`("?)\$(?:CLAUDE_PROJECT_DIR|\{CLAUDE_PROJECT_DIR\})("?)/`)

// HookName returns a hook's name without the path of the project's folder, because that path is the
// same for all hooks.
func HookName(name string) string {
	return projectDir().ReplaceAllStringFunc(name, func(s string) string {
		if strings.HasPrefix(s, `"`) && !strings.HasSuffix(s, `"/`) {
			return `"` // the file's name is quoted, too
		}
		return ""
	})
}

// HookLabel returns a short hook name for use in a line.
func HookLabel(name string) string { return term.Truncate(HookName(name), 40) }

// notified prints a notification.
func (v *Text) notified(e event.Notification) {
	if v.Quiet && e.Level != "error" {
		return
	}
	text := e.Title
	if e.Body != "" {
		if text != "" {
			text += ": "
		}
		text += e.Body
	}
	if e.By != "" {
		text += " (hook " + HookLabel(e.By) + ")"
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
	v.Program.Err.Line("%s", style("· "+term.Escape(term.OneLine(text))))
}

// reasonOf returns the hook event, the name of the hook and the reason that it gave.
func reasonOf(err error) string {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.HookEvent == "" {
		return ""
	}
	text := fmt.Sprintf(" (%s, %s)", e.HookEvent, HookLabel(e.Hook))
	if e.HookReason != "" {
		text += ": " + e.HookReason
	}
	return text
}
