package policy

import "slices"

// Kind is what a mode looks at: what sort of thing a request would do.
type Kind string

// The kinds. A request is of the first in this list that fits, except that
// reading and safe commands come last: they are what is left when nothing else is.
const (
	KindDangerous   Kind = "command, dangerous" // on the list in danger.json
	KindSecret      Kind = "read of a secret"   // by a tool or a command
	KindUnclear     Kind = "command, unclear"   // what it runs cannot be read off it
	KindCommand     Kind = "command"            // not known to be safe
	KindEdit        Kind = "edit"               // inside the session's folders
	KindEditOutside Kind = "edit outside"       // of the session's folders
	KindNetwork     Kind = "network"            // may change something there
	KindReach       Kind = "network, sandbox"   // out of the sandbox, to a host that none of its lists names
	KindMCP         Kind = "MCP"                // a tool of an MCP server
	KindOther       Kind = "other"              // everything without a name
	KindFetch       Kind = "network, read-only" // the tool says that it changes nothing
	KindReadOutside Kind = "read outside"       // of the session's folders, by a tool or a safe command
	KindSafe        Kind = "command, safe"      // certainly changes nothing, inside the session's folders
	KindRead        Kind = "read"               // inside the session's folders, or of something that is no file
)

// Kinds lists the kinds in the order of the table in docs/permissions.md.
func Kinds() []Kind {
	return []Kind{
		KindRead, KindReadOutside, KindSecret, KindEdit, KindEditOutside,
		KindSafe, KindCommand, KindUnclear, KindDangerous,
		KindFetch, KindNetwork, KindReach, KindMCP, KindOther,
	}
}

// changes reports whether a request of this kind may change something. In plan
// mode allow rules do not open these.
func (k Kind) changes() bool {
	switch k {
	case KindRead, KindReadOutside, KindSecret, KindSafe, KindFetch:
		return false
	}
	return true
}

// Decide is the table: what a mode says to a kind. It always has an opinion. An
// unknown mode and an unknown kind ask.
func (m Mode) Decide(k Kind) Effect {
	switch m {
	case ModeBypass:
		if k == KindReach {
			return Ask // the sandbox is a hard limit
		}
		return Allow
	case ModeRestricted:
		return Deny
	case ModeSilent:
		return allowOnly(k, Deny, KindRead, KindSafe)
	case ModeDontAsk:
		return allowOnly(k, Deny, KindRead, KindSafe, KindFetch)
	case ModePlan, ModeDefault, "":
		return allowOnly(k, Ask, KindRead, KindSafe, KindFetch)
	case ModeAcceptEdits:
		return allowOnly(k, Ask, KindRead, KindSafe, KindFetch, KindEdit)
	case ModeAuto:
		switch k {
		case KindDangerous, KindSecret, KindEditOutside:
			return Deny
		case KindUnclear, KindReach:
			return Ask
		}
		return allowOnly(k, Ask, Kinds()...)
	}
	return Ask
}

func allowOnly(k Kind, otherwise Effect, allowed ...Kind) Effect {
	if slices.Contains(allowed, k) {
		return Allow
	}
	return otherwise
}

// silences reports whether the mode turns every question into a no.
func (m Mode) silences() bool { return m == ModeDontAsk || m == ModeSilent }
