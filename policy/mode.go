package policy

import (
	"fmt"
	"slices"
)

// Mode is the rule of thumb that decides when nothing more specific did.
type Mode string

// The modes (seed 000).
const (
	ModeDefault     Mode = "default"           // ask before every effect but reading
	ModePlan        Mode = "plan"              // read, ask for everything else
	ModeAcceptEdits Mode = "acceptEdits"       // edit files, ask for the rest
	ModeBypass      Mode = "bypassPermissions" // do not ask
)

// Modes lists the modes that [ParseMode] knows.
func Modes() []Mode { return []Mode{ModeDefault, ModePlan, ModeAcceptEdits, ModeBypass} }

// ParseMode reads a mode's name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown permission mode %q, want one of %v", s, Modes())
}

// Evaluate judges a request by the mode alone. It always has an opinion.
func (m Mode) Evaluate(r Request) Verdict {
	because := fmt.Sprintf("mode %s", m)
	switch {
	case m == ModeBypass, r.ReadOnly:
		return Verdict{Effect: Allow, Reason: because}
	case m == ModeAcceptEdits && r.Operation == OpWrite:
		return Verdict{Effect: Allow, Reason: because}
	}
	return Verdict{Effect: Ask, Reason: because}
}
