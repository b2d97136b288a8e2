package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// allowHint returns a hint that says how a denied call can be allowed.
func allowHint(d *policy.Decision) string {
	hint := "run it in a terminal to be asked"
	switch {
	case strings.HasPrefix(d.By, "hook "):
		return "list the hooks: holdfast hooks list"
	case d.Personal():
		return hint + ", or with --on-ask fail, to answer with holdfast approvals; no rule or mode allows this call"
	case strings.HasPrefix(d.By, "skill "):
		return "the skill's allowed-tools limits this turn"
	case !slices.Contains([]string{"nobody", "timeout", "approval"}, d.By) && !strings.HasPrefix(d.By, "mode "):
		hint = "flags cannot override a deny rule: "
		if d.Rule != nil {
			return hint + d.Rule.Rule + " of " + settings.OriginText(*d.Rule)
		}
		return hint + "see holdfast policy show"
	case d.Mode == policy.ModePlan:
		return hint + ", or use another --permission-mode: plan mode ignores allow rules"
	}
	hint += ", or allow it: --allowed-tools " + d.Tool
	if slices.ContainsFunc(d.Touches, func(t policy.Target) bool { return t.Operation == policy.OpWrite }) {
		hint += " or --permission-mode acceptEdits"
	}
	return hint
}

func deniedText(list []policy.Decision) string {
	var names []string
	for _, d := range list {
		names = append(names, d.Tool)
	}
	return fmt.Sprintf("%s (%s)", term.Count(len(list), "call"), strings.Join(slices.Compact(names), ", "))
}

// EndReason returns why a turn did not complete, or "".
func EndReason(r event.Result) string { return runtext.EndReason(r) }
