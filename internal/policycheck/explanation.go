package policycheck

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/policy"
)

// Explanation is the decision for a call that was not made, in JSON.
type Explanation struct {
	Tool    string                `json:"tool"`
	Exact   []string              `json:"exact"` // what the call would access
	Verdict policy.Effect         `json:"verdict"`
	Reason  string                `json:"reason"`
	By      string                `json:"by"`
	Rule    *policy.Origin        `json:"rule,omitempty"`
	Mode    policy.Mode           `json:"mode"`
	CWD     string                `json:"cwd"`
	Trace   []policy.Contribution `json:"trace"`
	Note    string                `json:"note,omitempty"` // what was not considered
}

// Explain explains a decision about a call in a folder.
func Explain(d *policy.Decision, requests []policy.Request, cwd string) Explanation {
	v := Explanation{
		Tool: d.Tool, Verdict: d.Effect, Reason: d.Reason, By: d.By, Rule: d.Rule, Mode: d.Mode, CWD: cwd, Trace: d.Contributions, Exact: []string{},
	}
	if v.Trace == nil {
		v.Trace = []policy.Contribution{}
	}
	for _, r := range requests {
		v.Exact = append(v.Exact, r.Resource)
	}
	return v
}

// String returns the explanation on one line.
func (v *Explanation) String() string {
	return fmt.Sprintf("%s by %s: %s", v.Verdict, v.By, v.Reason)
}
