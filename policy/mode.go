package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is the default decision for calls if nothing more specific decides about them.
type Mode string

// The modes (the Open Agent SDK's and Claude Code's). docs/reference/permissions.md contains a
// table, generated from this package, with the effect of each mode on each kind of request.
const (
	ModeDefault     Mode = "default"           // ask before every effect except reading
	ModePlan        Mode = "plan"              // allow reading; ask for everything else, even if a rule allows it
	ModeAuto        Mode = "auto"              // deny dangerous commands, reads of secrets and edits outside the session's folders; allow almost everything else
	ModeAcceptEdits Mode = "acceptEdits"       // allow edits in the session's folders, and ask for everything else
	ModeDontAsk     Mode = "dontAsk"           // deny instead of asking
	ModeBypass      Mode = "bypassPermissions" // never ask for approval; hard limits still apply
	ModeRestricted  Mode = "restricted"        // allow only what a rule, a grant or a policy allows; this includes reading
	ModeSilent      Mode = "silent"            // allow only what is already permitted, and never ask
)

// Modes lists the modes.
func Modes() []Mode {
	return []Mode{ModeDefault, ModePlan, ModeAuto, ModeAcceptEdits, ModeDontAsk, ModeBypass, ModeRestricted, ModeSilent}
}

// Check returns an error for an unknown mode.
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

// modeOrder lists the modes, starting with the strictest.
var modeOrder = [...]Mode{
	ModeRestricted, ModeSilent, ModeDontAsk, ModePlan, ModeDefault, ModeAcceptEdits, ModeAuto, ModeBypass,
}

// Stricter returns the stricter of two modes. From strict to permissive: restricted, silent,
// dontAsk, plan, default, acceptEdits, auto, bypassPermissions.
func (m Mode) Stricter(other Mode) Mode {
	for _, strict := range modeOrder {
		if strict == m || strict == other {
			return strict
		}
	}
	return m
}

// Evaluate returns the mode's verdict for a request. The mode knows no session folders and treats
// every path as inside them. The mode always has an opinion.
func (m Mode) Evaluate(r Request) Verdict {
	var w environment
	s := w.viewOf(r)
	return m.judge(s, w.kind(s))
}

// chainLinks are the names of the modes in chains.
var chainLinks = func() map[Mode]string {
	m := map[Mode]string{}
	for _, mode := range Modes() {
		m[mode] = "mode " + string(mode)
	}
	return m
}()

// link returns the name of the mode in chains.
func (m Mode) link() string { return chainLinks[m] }

// judge is the last link of the chain. Its texts are those of the Open Agent SDK, so that a model
// gets the same text as there.
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
