package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is the rule of thumb that decides when nothing more specific did.
type Mode string

// The modes (seeds 000 and 003). What each does with each kind of request is the
// table in docs/permissions.md, which is generated from this package.
const (
	ModeDefault     Mode = "default"           // ask before every effect but reading
	ModePlan        Mode = "plan"              // read; ask for everything else, whatever the allow rules say
	ModeAuto        Mode = "auto"              // do everything but what is dangerous
	ModeAcceptEdits Mode = "acceptEdits"       // edit files in the session's folders, ask for the rest
	ModeDontAsk     Mode = "dontAsk"           // what would be asked is denied
	ModeBypass      Mode = "bypassPermissions" // do not ask; hard limits stay
	ModeRestricted  Mode = "restricted"        // only what a rule, a grant or a policy allows, reading included
	ModeSilent      Mode = "silent"            // only what is already permitted, and never a question
)

// Modes lists the modes that [ParseMode] knows.
func Modes() []Mode {
	return []Mode{ModeDefault, ModePlan, ModeAuto, ModeAcceptEdits, ModeDontAsk, ModeBypass, ModeRestricted, ModeSilent}
}

// ParseMode reads a mode's name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); slices.Contains(Modes(), m) {
		return m, nil
	}
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return "", fmt.Errorf("unknown permission mode %q, want one of %s", s, strings.Join(names, ", "))
}
