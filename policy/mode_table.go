package policy

import "slices"

// actionKind is what a mode looks at: what sort of thing a request would do.
type actionKind string

// The kinds. A request is of the first in this list that fits, except that
// reading and safe commands come last: they are what is left when nothing else is.
const (
	kindDangerous   actionKind = "command, dangerous" // on the list in danger.json
	kindSecret      actionKind = "read of a secret"   // by a tool or a command
	kindUnclear     actionKind = "command, unclear"   // what it runs cannot be read off it
	kindCommand     actionKind = "command"            // not known to be safe
	kindEdit        actionKind = "edit"               // inside the session's folders
	kindEditOutside actionKind = "edit outside"       // of the session's folders
	kindNetwork     actionKind = "network"            // may change something there
	kindReach       actionKind = "out of the sandbox" // to a host that none of its lists names, or a write that it refuses
	kindMCP         actionKind = "MCP"                // a tool of an MCP server
	kindOther       actionKind = "other"              // everything without a name
	kindFetch       actionKind = "network, read-only" // the tool says that it changes nothing
	kindReadOutside actionKind = "read outside"       // of the session's folders, by a tool or a safe command
	kindSafe        actionKind = "command, safe"      // certainly changes nothing, inside the session's folders
	kindRead        actionKind = "read"               // inside the session's folders, or of something that is no file
)

// allKinds lists the kinds in the order of the table in docs/reference/permissions.md.
func allKinds() []actionKind {
	return []actionKind{
		kindRead, kindReadOutside, kindSecret, kindEdit, kindEditOutside,
		kindSafe, kindCommand, kindUnclear, kindDangerous,
		kindFetch, kindNetwork, kindReach, kindMCP, kindOther,
	}
}

// changes reports whether a request of this kind may change something. In plan
// mode allow rules do not open these.
func (k actionKind) changes() bool {
	switch k {
	case kindRead, kindReadOutside, kindSecret, kindSafe, kindFetch:
		return false
	}
	return true
}

// Decide is the table: what a mode says to a kind. It always has an opinion. An
// unknown mode and an unknown kind ask.
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

// silences reports whether the mode turns every question into a no.
func (m Mode) silences() bool { return m == ModeDontAsk || m == ModeSilent }
