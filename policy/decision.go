package policy

import (
	"encoding/json"
	"slices"
)

// Decision explains the outcome for one tool call; it is the payload of a
// decision record.
type Decision struct {
	Use           string          `json:"use_id"`
	Agent         string          `json:"agent,omitempty"`
	Tool          string          `json:"tool"`
	Effect        Effect          `json:"effect"` // ask only until somebody answered
	By            string          `json:"by"`     // the link of the chain that decided: "rules", "grants", "mode plan"; or who answered
	Reason        string          `json:"reason,omitempty"`
	Rule          *Origin         `json:"rule,omitempty"`
	Mode          Mode            `json:"mode"`
	Version       int             `json:"version,omitempty"` // of the policy, see [Guards.Version]
	Contributions []Contribution  `json:"said,omitempty"`    // what each link said, in the order of the chain
	PersonAsked   bool            `json:"asked,omitempty"`   // a person was asked
	AskReason     string          `json:"why,omitempty"`     // of a question: "policy-ask", or "policy-deny-override" where the session has denied it
	Grant         string          `json:"grant,omitempty"`   // the grant that decided
	Input         json.RawMessage `json:"input,omitempty"`   // to run with instead, when a policy or a person changed it
	Stop          bool            `json:"stop,omitempty"`
	Digests       []string        `json:"digests"`                   // of the requests
	Touches       []Target        `json:"touches,omitempty"`         // what the requests were about, in the same order
	Sandbox       string          `json:"sandbox,omitempty"`         // what would hold the call, in words
	Profile       string          `json:"sandbox_profile,omitempty"` // the digest of what that sandbox holds calls to
}

// Target is what one request was about.
type Target struct {
	Operation Operation `json:"operation,omitempty"`
	Resource  string    `json:"resource"`
}

// Contribution is one link's contribution to a decision.
type Contribution struct {
	Policy   string `json:"policy"`
	Resource string `json:"resource,omitempty"` // of the request it is about, when there are several
	Verdict
}

// Outside reports whether the call was one that would run outside of the sandbox,
// about which nobody but a person decides.
func (d *Decision) Outside() bool { return d.asks(sandboxName) }

// Personal reports whether nobody but a person decides about the call, each time: no rule
// and no mode would allow it.
func (d *Decision) Personal() bool { return d.asks(sandboxName) || d.asks(personName) }

func (d *Decision) asks(policy string) bool {
	return slices.ContainsFunc(d.Contributions, func(s Contribution) bool { return s.Policy == policy && s.Effect == Ask })
}
