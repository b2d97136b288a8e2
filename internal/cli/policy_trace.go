package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// verdictDoc is a decision in JSON.
type verdictDoc struct {
	Tool    string         `json:"tool"`
	Exact   []string       `json:"exact"` // what the call would touch
	Verdict policy.Effect  `json:"verdict"`
	Reason  string         `json:"reason"`
	By      string         `json:"by"`
	Rule    *policy.Origin `json:"rule,omitempty"`
	Mode    policy.Mode    `json:"mode"`
	CWD     string         `json:"cwd"`
	Trace   []policy.Said  `json:"trace"`
}

func newVerdict(d *policy.Decision, requests []policy.Request, cwd string) verdictDoc {
	v := verdictDoc{
		Tool: d.Tool, Verdict: d.Effect, Reason: d.Reason, By: d.By, Rule: d.Rule, Mode: d.Mode, CWD: cwd, Trace: d.Said, Exact: []string{},
	}
	if v.Trace == nil {
		v.Trace = []policy.Said{}
	}
	for _, r := range requests {
		v.Exact = append(v.Exact, r.Resource)
	}
	return v
}

// verdictOutcome is the exit code of a command that says what would become of a call.
func verdictOutcome(e policy.Effect) outcome.Outcome {
	switch e {
	case policy.Allow:
		return outcome.OK
	case policy.Ask:
		return outcome.Approval
	}
	return outcome.Denied
}

// decision prints a decision: the verdict, why, and what each link said in order.
func printDecision(p *term.Printer, v *verdictDoc) {
	t := p.Style
	row := func(name, value string) {
		if value != "" {
			p.Line("%s %s", t.Dim(term.Column(name, 8)), value)
		}
	}
	row("verdict", strings.TrimSpace(effectWord(t, v.Verdict))+" by "+term.Escape(v.By))
	row("because", term.Escape(term.OneLine(v.Reason)))
	if v.Rule != nil {
		row("rule", term.Escape(v.Rule.Rule)+"  "+t.Dim(term.Escape(settings.Where(*v.Rule))))
	}
	row("tool", term.Escape(v.Tool))
	for _, e := range v.Exact {
		row("exact", term.Escape(term.OneLine(e)))
	}
	row("folder", term.Escape(v.CWD))
	row("mode", string(v.Mode))
	p.Line("")
	printTrace(p, v, "")
}

// trace prints what each link said; the one that decided is marked.
func printTrace(p *term.Printer, v *verdictDoc, indent string) {
	for i := range v.Trace {
		said := &v.Trace[i]
		mark := " "
		if said.Policy == v.By && said.Effect == v.Verdict {
			mark = "►"
		}
		why := term.Escape(term.OneLine(said.Reason))
		if said.Rule != nil {
			why += "  " + p.Dim(term.Escape(settings.Where(*said.Rule)))
		}
		if said.Resource != "" && len(v.Exact) > 1 {
			why += "  " + p.Dim("("+term.Escape(said.Resource)+")")
		}
		line := fmt.Sprintf("%s%s %s %s %s", indent, mark, effectWord(p.Style, said.Effect), term.Column(term.Escape(said.Policy), 16), why)
		p.Line("%s", strings.TrimRight(line, " "))
	}
}

// gist is a verdict in one line.
func (v *verdictDoc) gist() string {
	return fmt.Sprintf("%s by %s: %s", v.Verdict, v.By, v.Reason)
}
