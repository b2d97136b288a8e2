package audit

import (
	"cmp"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// person is who answered when nobody said a name.
const person = "person"

// The words for those who are no person where a person would have answered.
var (
	absent = map[string]bool{"nobody": true, "timeout": true}
	itself = map[string]bool{"interrupt": true, "lapse": true, "start": true, "restart": true, "restore": true, "cut": true, "approval": true, "guard": true, "input": true}
)

// whoAnswered says who an answer is from. Whoever answered through a client is a
// person, whatever the name.
func whoAnswered(by, via string) Actor {
	switch {
	case via != "":
	case absent[by]:
		return Actor{Kind: ActorNobody, Name: by}
	case itself[by]:
		return Actor{Kind: ActorProgram, Name: by}
	case strings.HasPrefix(by, "hook "):
		return link(by, nil, "")
	}
	return Actor{Kind: ActorPerson, Name: cmp.Or(by, person), Via: via}
}

// whoChanged says who changed the policy or erased something.
func whoChanged(by string) Actor {
	if by == "" {
		return Actor{Kind: ActorProgram}
	}
	return whoAnswered(by, "")
}

// link says who a link of the chain is.
func link(by string, rule *policy.Origin, grant string) Actor {
	kind, name, _ := strings.Cut(by, " ")
	switch {
	case kind == "mode" || kind == "hook":
		return Actor{Kind: kind, Name: name}
	case by == "rules" && rule != nil:
		return Actor{Kind: ActorRule, Name: rule.Rule}
	case by == "rules":
		return Actor{Kind: ActorRule}
	case by == "grants":
		return Actor{Kind: ActorGrant, Name: grant}
	case by == "canUseTool":
		return Actor{Kind: ActorCallback, Name: by}
	case kind == "sandbox":
		return Actor{Kind: ActorSandbox, Name: name}
	case absent[by]:
		return Actor{Kind: ActorNobody, Name: by}
	case itself[by], by == "":
		return Actor{Kind: ActorProgram, Name: by}
	}
	return Actor{Kind: ActorPolicy, Name: by}
}
