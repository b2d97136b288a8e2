package settings

import (
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// weaker lists, for each mode, those that are surely weaker: whatever the rules,
// they let everything pass that this one lets pass. Plan cannot be compared with
// the modes that never ask: it takes no allow rule for a change, they take no yes.
var weaker = map[policy.Mode][]policy.Mode{
	policy.ModeAuto:        {policy.ModeBypass},
	policy.ModeAcceptEdits: {policy.ModeBypass, policy.ModeAuto},
	policy.ModeDefault:     {policy.ModeBypass, policy.ModeAuto, policy.ModeAcceptEdits},
	policy.ModePlan:        {policy.ModeBypass, policy.ModeAuto, policy.ModeAcceptEdits, policy.ModeDefault},
	policy.ModeDontAsk:     {policy.ModeBypass, policy.ModeAuto, policy.ModeAcceptEdits, policy.ModeDefault},
	policy.ModeSilent: {
		policy.ModeBypass, policy.ModeAuto, policy.ModeAcceptEdits, policy.ModeDefault, policy.ModeDontAsk,
	},
	policy.ModeRestricted: {
		policy.ModeBypass, policy.ModeAuto, policy.ModeAcceptEdits, policy.ModeDefault, policy.ModeDontAsk, policy.ModeSilent,
	},
}

// stricter reports whether a is surely stricter than b.
func stricter(a, b policy.Mode) bool { return slices.Contains(weaker[a], b) }
