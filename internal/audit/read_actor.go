package audit

import (
	"cmp"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// person is the name of an approver who gave no name.
const person = "person"

// whoAnswered returns the actor of an answer. An answer through a client comes from a person,
// whatever its name.
func whoAnswered(by, via string) Actor {
	switch {
	case via != "":
	case record.ByNobody(by):
		return Actor{Kind: actorNobody, Name: by}
	case record.ByProgram(by):
		return Actor{Kind: actorProgram, Name: by}
	case strings.HasPrefix(by, "hook "):
		return linkActor(by, nil, "")
	}
	return Actor{Kind: actorPerson, Name: cmp.Or(by, person), Via: via}
}

// whoChanged returns the actor who changed the policy or erased something.
func whoChanged(by string) Actor {
	if by == "" {
		return Actor{Kind: actorProgram}
	}
	return whoAnswered(by, "")
}

// linkActor returns the actor for a link of the chain.
func linkActor(by string, rule *policy.Origin, grant string) Actor {
	kind, name, _ := strings.Cut(by, " ")
	switch {
	case kind == "mode" || kind == "hook":
		return Actor{Kind: kind, Name: name}
	case by == "rules" && rule != nil:
		return Actor{Kind: actorRule, Name: rule.Rule}
	case by == "rules":
		return Actor{Kind: actorRule}
	case by == "grants":
		return Actor{Kind: actorGrant, Name: grant}
	case by == "canUseTool":
		return Actor{Kind: actorCallback, Name: by}
	case kind == "sandbox":
		return Actor{Kind: actorSandbox, Name: name}
	case record.ByNobody(by):
		return Actor{Kind: actorNobody, Name: by}
	case record.ByProgram(by), by == "":
		return Actor{Kind: actorProgram, Name: by}
	}
	return Actor{Kind: actorPolicy, Name: by}
}
