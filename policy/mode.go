package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is the rule of thumb that decides when nothing more specific did.
type Mode string

// The modes (seeds 000 and 003). What each does with each kind of request is the
// table in docs/reference/permissions.md, which is generated from this package.
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

// Modes lists the modes.
func Modes() []Mode {
	return []Mode{ModeDefault, ModePlan, ModeAuto, ModeAcceptEdits, ModeDontAsk, ModeBypass, ModeRestricted, ModeSilent}
}

// Check says whether there is such a mode.
func (m Mode) Check() error {
	if slices.Contains(Modes(), m) {
		return nil
	}
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return fmt.Errorf("unknown permission mode %q, want one of %s", string(m), strings.Join(names, ", "))
}

// modeOrder orders the modes: the first lets the least pass.
var modeOrder = [...]Mode{
	ModeRestricted, ModeSilent, ModeDontAsk, ModePlan, ModeDefault, ModeAcceptEdits, ModeAuto, ModeBypass,
}

// Stricter returns the one of two modes that lets less pass. From strict to
// loose: restricted, silent, dontAsk, plan, default, acceptEdits, auto,
// bypassPermissions.
func (m Mode) Stricter(other Mode) Mode {
	for _, strict := range modeOrder {
		if strict == m || strict == other {
			return strict
		}
	}
	return m
}

// Evaluate is what the mode says to a request when nothing else is known: no
// session folders, so that every path counts as inside. It always has an opinion.
func (m Mode) Evaluate(r Request) Verdict {
	var w environment
	s := w.subject(r)
	return m.judge(s, w.kind(s))
}

// chainLinks are the modes' names in chains, made once.
var chainLinks = func() map[Mode]string {
	m := map[Mode]string{}
	for _, mode := range Modes() {
		m[mode] = "mode " + string(mode)
	}
	return m
}()

// link is the mode's name in chains.
func (m Mode) link() string { return chainLinks[m] }

// judge is the end of the chain. Its words are seed 000's, so that what a model
// is told stays the same.
func (m Mode) judge(s *requestView, k kindReason) Verdict {
	if m == "" {
		m = ModeDefault
	}
	v := Verdict{Effect: m.decide(k.kind)}
	about := string(k.kind)
	if k.why != "" {
		about += ": " + k.why
	}
	switch {
	case v.Effect == Allow:
		v.Reason = "mode " + string(m) + " allows: " + about
	case v.Effect == Deny:
		v.Reason = `Tool "` + s.Tool + `" denied in ` + string(m) + " mode (" + about + ")"
	case m == ModePlan:
		v.Reason = `Tool "` + s.Tool + `" blocked in plan mode (read-only) (` + about + ")"
	default:
		v.Reason = `Permission required for tool "` + s.Tool + `" in ` + string(m) + " mode (" + about + ")"
	}
	return v
}
