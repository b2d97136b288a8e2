package policy

import "slices"

// actionKind classifies requests for modes.
type actionKind string

// The kinds. Each request has exactly one of them, which [environment.kind] determines.
const (
	kindDangerous   actionKind = "command, dangerous" // in the list danger.json
	kindSecret      actionKind = "read of a secret"   // by a tool or a command
	kindUnclear     actionKind = "command, unclear"   // a command whose effect cannot be determined
	kindCommand     actionKind = "command"            // a command that is not known to be safe
	kindEdit        actionKind = "edit"               // inside the session's folders
	kindEditOutside actionKind = "edit outside"       // of the session's folders
	kindNetwork     actionKind = "network"            // a request that may change something on the network
	kindReach       actionKind = "out of the sandbox" // a connection to a host that is not on an allow list, or a write that the sandbox refuses
	kindMCP         actionKind = "MCP"                // a tool of an MCP server
	kindOther       actionKind = "other"              // every other request
	kindFetch       actionKind = "network, read-only" // the tool declares that it changes nothing
	kindReadOutside actionKind = "read outside"       // of the session's folders, by a tool or a safe command
	kindSafe        actionKind = "command, safe"      // a command inside the session's folders that certainly changes nothing
	kindRead        actionKind = "read"               // a read inside the session's folders, or of something that is not a file
)

// allKinds lists the kinds in the order of the table in docs/reference/permissions.md.
func allKinds() []actionKind {
	return []actionKind{
		kindRead, kindReadOutside, kindSecret, kindEdit, kindEditOutside,
		kindSafe, kindCommand, kindUnclear, kindDangerous,
		kindFetch, kindNetwork, kindReach, kindMCP, kindOther,
	}
}

// changes reports whether a request of this kind may change something. In plan mode, allow rules do
// not allow these kinds.
func (k actionKind) changes() bool {
	switch k {
	case kindRead, kindReadOutside, kindSecret, kindSafe, kindFetch:
		return false
	}
	return true
}

// decide returns the mode's effect for a kind. It is never [NoOpinion]; an unknown mode asks.
func (m Mode) decide(k actionKind) Effect {
	switch m {
	case ModeBypass:
		if k == kindReach {
			return Ask // the sandbox is a hard limit
		}
		return Allow
	case ModeRestricted:
		return Deny
	case ModeSilent:
		return allowOnly(k, Deny, kindRead, kindSafe)
	case ModeDontAsk:
		return allowOnly(k, Deny, kindRead, kindSafe, kindFetch)
	case ModePlan, ModeDefault, "":
		return allowOnly(k, Ask, kindRead, kindSafe, kindFetch)
	case ModeAcceptEdits:
		return allowOnly(k, Ask, kindRead, kindSafe, kindFetch, kindEdit)
	case ModeAuto:
		switch k {
		case kindDangerous, kindSecret, kindEditOutside:
			return Deny
		case kindUnclear, kindReach:
			return Ask
		}
		return allowOnly(k, Ask, allKinds()...)
	}
	return Ask
}

func allowOnly(k actionKind, otherwise Effect, allowed ...actionKind) Effect {
	if slices.Contains(allowed, k) {
		return Allow
	}
	return otherwise
}

// silences reports whether the mode denies instead of asking.
func (m Mode) silences() bool { return m == ModeDontAsk || m == ModeSilent }
