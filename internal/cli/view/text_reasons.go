package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// allowHint says what would let a call pass that was denied.
func allowHint(d *policy.Decision) string {
	hint := "run it in a terminal to be asked"
	switch {
	case strings.HasPrefix(d.By, "hook "):
		return "holdfast hooks list says which hooks there are"
	case d.Personal():
		return hint + ", or with --on-ask fail, to answer with holdfast approvals: no rule and no mode allows it"
	case strings.HasPrefix(d.By, "skill "):
		return "the skill's allowed-tools leave no more until the turn ends"
	case !slices.Contains([]string{"nobody", "timeout", "approval"}, d.By) && !strings.HasPrefix(d.By, "mode "):
		hint = "no flag opens a deny: "
		if d.Rule != nil {
			return hint + d.Rule.Rule + " of " + settings.OriginText(*d.Rule)
		}
		return hint + "holdfast policy show says what is in force"
	case d.Mode == policy.ModePlan:
		return hint + ", or with another --permission-mode: allow rules do not count in plan mode"
	}
	hint += ", or allow it: --allowed-tools " + d.Tool
	if slices.ContainsFunc(d.Touches, func(t policy.Target) bool { return t.Operation == policy.OpWrite }) {
		hint += " or --permission-mode acceptEdits"
	}
	return hint
}

func denied(list []policy.Decision) string {
	var names []string
	for _, d := range list {
		names = append(names, d.Tool)
	}
	return fmt.Sprintf("%s (%s)", term.Count(len(list), "call"), strings.Join(slices.Compact(names), ", "))
}

// EndReason says why a turn did not complete, or "".
func EndReason(r event.Result) string {
	switch r.Reason {
	case event.ReasonCompleted:
		return ""
	case event.ReasonMaxTurns:
		return "the limit of model calls was reached (--max-turns)"
	case event.ReasonBudget:
		if r.BudgetUSD > 0 {
			return fmt.Sprintf("the budget was reached: the run has cost %s of %s (--max-budget-usd)", term.Dollars(r.RunCostUSD), term.Dollars(r.BudgetUSD))
		}
		return "the budget was reached (--max-budget-usd)"
	case event.ReasonInterrupted:
		return "interrupted; what was done is saved"
	case event.ReasonHook:
		return "a hook stopped it" + reasonOf(r.Err)
	case event.ReasonDeferred:
		return "a hook put a call off until the session is resumed"
	case event.ReasonRefused:
		return "the provider refused to answer"
	}
	if r.Err != nil {
		return r.Err.Error()
	}
	return "the run failed"
}
