package policy

import (
	"encoding/json"
	"slices"
)

// Decision explains the outcome for one tool call; it is the payload of a decision record.
type Decision struct {
	Use           string          `json:"use_id"`
	Agent         string          `json:"agent,omitempty"`
	Tool          string          `json:"tool"`
	Effect        Effect          `json:"effect"` // the effect; it is ask only until the approval request is answered
	By            string          `json:"by"`     // who decided: a part of the chain, such as "rules", "grants" or "mode plan", or the approver
	Reason        string          `json:"reason,omitempty"`
	Rule          *Origin         `json:"rule,omitempty"`
	Mode          Mode            `json:"mode"`
	Version       int             `json:"version,omitempty"` // version of the policy, see [Guards.Version]
	Contributions []Contribution  `json:"said,omitempty"`    // the opinion of each link, in chain order
	PersonAsked   bool            `json:"asked,omitempty"`   // an approval request was sent
	AskReason     string          `json:"why,omitempty"`     // the reason for the approval request: "policy-ask", or "policy-deny-override" if the call requests an exception from a deny grant
	Grant         string          `json:"grant,omitempty"`   // the grant that decided
	Input         json.RawMessage `json:"input,omitempty"`   // replaces the call's input, if a policy or the user changed it
	Stop          bool            `json:"stop,omitempty"`
	Digests       []string        `json:"digests"`                   // of the requests
	Touches       []Target        `json:"touches,omitempty"`         // the target of each request, in the same order
	Sandbox       string          `json:"sandbox,omitempty"`         // a description of the sandbox that would confine the call
	Profile       string          `json:"sandbox_profile,omitempty"` // the digest of that sandbox's profile
}

// Target is the operation and resource of one request.
type Target struct {
	Operation Operation `json:"operation,omitempty"`
	Resource  string    `json:"resource"`
}

// Contribution is the opinion of one link in a decision.
type Contribution struct {
	Policy   string `json:"policy"`
	Resource string `json:"resource,omitempty"` // the request that it refers to, if there are several
	Verdict
}

// Outside reports whether the call would run outside the sandbox, which only the user can allow.
func (d *Decision) Outside() bool { return d.asks(sandboxName) }

// Personal reports whether only the user may decide about the call, every time: no rule and no mode
// can allow it.
func (d *Decision) Personal() bool { return d.asks(sandboxName) || d.asks(personName) }

func (d *Decision) asks(policy string) bool {
	return slices.ContainsFunc(d.Contributions, func(s Contribution) bool { return s.Policy == policy && s.Effect == Ask })
}
