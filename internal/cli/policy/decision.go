package policy

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// verdictOutcome returns the exit code of a command that explains a decision.
func verdictOutcome(e policy.Effect) outcome.Outcome {
	switch e {
	case policy.Allow:
		return outcome.OK
	case policy.Ask:
		return outcome.Approval
	}
	return outcome.Denied
}

// printDecision prints a decision: the verdict, the reason, and the contribution of each link in order.
func printDecision(p *term.Printer, v *policycheck.Explanation) {
	t := p.Style
	row := func(name, value string) {
		if value != "" {
			p.Line("%s %s", t.Dim(term.Column(name, 8)), value)
		}
	}
	row("verdict", strings.TrimSpace(view.EffectText(t, v.Verdict))+" by "+term.Escape(v.By))
	row("because", term.Escape(term.OneLine(v.Reason)))
	if v.Rule != nil {
		row("rule", term.Escape(v.Rule.Rule)+"  "+t.Dim(term.Escape(settings.OriginText(*v.Rule))))
	}
	row("tool", term.Escape(v.Tool))
	for _, e := range v.Exact {
		row("exact", term.Escape(term.OneLine(e)))
	}
	row("folder", term.Escape(v.CWD))
	row("mode", string(v.Mode))
	row("note", term.Escape(v.Note))
	p.Line("")
	printTrace(p, v, "")
}

// printTrace prints the contribution of each link and marks the one that decided.
func printTrace(p *term.Printer, v *policycheck.Explanation, indent string) {
	for i := range v.Trace {
		step := &v.Trace[i]
		mark := " "
		if step.Policy == v.By && step.Effect == v.Verdict {
			mark = "►"
		}
		why := term.Escape(term.OneLine(step.Reason))
		if step.Rule != nil {
			why += "  " + p.Dim(term.Escape(settings.OriginText(*step.Rule)))
		}
		if step.Resource != "" && len(v.Exact) > 1 {
			why += "  " + p.Dim("("+term.Escape(step.Resource)+")")
		}
		line := fmt.Sprintf("%s%s %s %s %s", indent, mark, view.EffectText(p.Style, step.Effect), term.Column(term.Escape(step.Policy), 16), why)
		p.Line("%s", strings.TrimRight(line, " "))
	}
}
