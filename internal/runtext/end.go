package runtext

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// EndReason returns why a turn did not complete, or "".
func EndReason(r event.Result) string {
	switch r.Reason {
	case event.ReasonCompleted:
		return ""
	case event.ReasonMaxTurns:
		return "the maximum number of model calls was reached (--max-turns)"
	case event.ReasonBudget:
		if r.BudgetUSD > 0 {
			return fmt.Sprintf("the budget was reached: the run has cost %s of %s (--max-budget-usd)", term.Dollars(r.RunCostUSD), term.Dollars(r.BudgetUSD))
		}
		return "the budget was reached (--max-budget-usd)"
	case event.ReasonInterrupted:
		return "interrupted; completed work is saved"
	case event.ReasonHook:
		return "a hook stopped the run" + reasonOf(r.Err)
	case event.ReasonDeferred:
		return "a hook deferred a call until the session is resumed"
	case event.ReasonRefused:
		return "the provider refused to answer"
	}
	if r.Err != nil {
		return r.Err.Error()
	}
	return "the run failed"
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
