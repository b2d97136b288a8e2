package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
)

// hookRan tells what hooks say to the person; with --verbose also which ran.
func (v *textView) hookRan(e agent.HookRan) {
	if v.verbose {
		for _, r := range e.Ran.Hooks {
			what := orElse(r.Effect, "done")
			if r.Error != "" {
				what = "failed"
			}
			if r.Exit != nil && *r.Exit != 0 {
				what += fmt.Sprintf(", exit %d", *r.Exit)
			}
			v.note("hook %s %s: %s, %s", e.Ran.Event, hookLabel(r.Name), what, took(time.Duration(r.Millis)*time.Millisecond))
		}
	}
	for _, n := range e.Notices {
		v.note("hook %s: %s", hookLabel(n.By), n.What)
	}
	if v.p.err.term.tty && !v.p.err.term.dumb {
		for _, seq := range e.Terminal { // checked to move nothing
			_ = v.p.err.bytes([]byte(seq))
		}
	}
}

// hookLabel is a hook's name on one line with other things.
func hookLabel(name string) string { return fit(name, 40) }

// notified prints a notification.
func (v *textView) notified(e agent.Notified) {
	if v.quiet && e.Level != "error" {
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
		text += " (hook " + hookLabel(e.By) + ")"
	}
	t := v.p.err.term
	style := t.dim
	switch e.Level {
	case "warning":
		style = t.yellow
	case "error":
		style = t.red
	}
	v.endThinking()
	v.p.err.line("%s", style("· "+shown(oneLine(text))))
}

// reasonOf says by which hook and why.
func reasonOf(err error) string {
	e, ok := errors.AsType[*agent.HookError](err)
	if !ok {
		return ""
	}
	text := fmt.Sprintf(" (%s, %s)", e.Event, hookLabel(e.By))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}
