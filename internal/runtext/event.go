package runtext

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// Retrying says that a model call failed and is repeated.
func Retrying(e event.ModelRetrying) string {
	return fmt.Sprintf("%v; retrying in %s", e.Err, term.Elapsed(e.Delay))
}

// Switched says that another model answers.
func Switched(e event.ModelSwitched) string {
	return fmt.Sprintf("%s is unavailable (%v); switching to %s", e.From, e.Err, e.To)
}

// CutOff says that an answer is incomplete.
const CutOff = "the answer was cut off here"

// Notified is the text of a notification.
func Notified(e event.Notification) string {
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
	return text
}

// PolicyChanged says what a policy change does. It returns "" for a change that users need not
// know.
func PolicyChanged(c policy.Change) string {
	by := ""
	if c.By != "" {
		by = ", by " + c.By
	}
	switch {
	case c.Mode != "":
		return fmt.Sprintf("permission mode is now %s%s", c.Mode, by)
	case c.Grant != nil:
		if c.Grant.Address != "" {
			by = " at " + c.Grant.Address + by
		}
		return fmt.Sprintf("for this session: %s %s%s", c.Grant.Effect, cmp.Or(c.Grant.Scope, c.Grant.Tool+" "+c.Grant.Resource), by)
	case c.Revoke != "":
		return fmt.Sprintf("grant %s of this session was revoked%s", c.Revoke, by)
	case c.Limit != nil:
		return limit(c.Limit)
	case c.Patch != nil:
		return fmt.Sprintf("the policy for %s was changed%s", cmp.Or(c.Patch.Tool, "every tool"), by)
	}
	return ""
}

// limit says what the limit of a turn allows.
func limit(l *policy.Limit) string {
	var lines []string
	if len(l.Rules) > 0 {
		lines = append(lines, fmt.Sprintf("until this turn ends, %s allows only %s", l.Name, strings.Join(l.Rules, ", ")))
	}
	if len(l.Allow) > 0 {
		lines = append(lines, fmt.Sprintf("%s allows in this turn: %s", l.Name, strings.Join(l.Allow, ", ")))
	}
	return strings.Join(lines, "\n")
}
