package policy

import "slices"

// sandboxName is the chain link of the kernel sandbox. It asks about commands that would run
// outside the sandbox, and allows commands inside it if [Config.AutoAllowConfined] is set.
const sandboxName = "sandbox"

const bashTool = "Bash"

const outsideReason = "it would run outside the sandbox, which only the user can allow, each time"

const opensReason = "the sandbox refuses it; only the user can open the sandbox"

// askSandbox adds an ask for an action that the sandbox refuses to a command: a write, or a type of
// socket. A grant that the user gave for the session answers this ask. Rules, hooks, callbacks and
// policies decide about calls and cannot open the sandbox.
func (b *verdictSet) askSandbox(s *requestView) {
	if s.Opens() {
		b.doubt(sandboxName, Verdict{Effect: Ask, Reason: opensReason})
	}
}

// autoAllow reports whether autoAllowBashIfSandboxed applies to a request.
func (src *runGuards) autoAllow(s *requestView) bool {
	return src.autoAllowOrigin != nil && s.Confined && !s.Unsandboxed && s.Tool == bashTool && s.Operation == OpCommand
}

// askOutside adds an ask for a command that would run outside the sandbox. Only the user can answer
// it, so it overrides every allow in the chain. It does not weaken a deny of the mode.
func (b *verdictSet) askOutside(s *requestView) {
	if !s.Unsandboxed {
		return
	}
	first := !b.started || rankOutside < b.rank
	b.add(rankOutside, sandboxName, Verdict{Effect: Ask, Reason: outsideReason}, "")
	b.limited = b.limited || first
}

// personName is the chain link for calls that only the user may decide.
const personName = "person"

const personReason = "only the user can decide this, each time"

// askPerson adds an ask for a call that only the user may decide. Like the ask for a command
// outside the sandbox, this ask overrides every allow and does not weaken a deny of the mode.
func (b *verdictSet) askPerson(s *requestView) {
	if !s.Person {
		return
	}
	first := !b.started || rankOutside < b.rank
	b.add(rankOutside, personName, Verdict{Effect: Ask, Reason: personReason}, "")
	b.limited = b.limited || first
}

// allowConfined adds the permission for a command that runs in the sandbox. It replaces an ask of
// the mode, and the deny of a mode that denies instead of asking. In plan mode, and if a mode
// really denies the command, it adds no permission.
func (b *verdictSet) allowConfined(src *runGuards, v *decisionInput, k actionKind) {
	switch by, asks := v.mayAsk(k); {
	case v.plans():
		b.note(sandboxName, "autoAllowBashIfSandboxed does not apply in plan mode")
	case !asks:
		b.note(sandboxName, "autoAllowBashIfSandboxed does not override the denial of "+by.link())
	default:
		rule := *src.autoAllowOrigin
		b.add(rankRule, sandboxName, Verdict{Effect: Allow, Reason: "it runs in the sandbox (autoAllowBashIfSandboxed)", Rule: &rule}, "")
	}
}

// mayAsk reports whether no active mode denies a kind of request, apart from modes that deny
// instead of asking. If the result is false, it also returns the mode that denies.
func (v *decisionInput) mayAsk(k actionKind) (Mode, bool) {
	denies := func(m Mode) bool { return m.decide(k) == Deny && !m.silences() }
	if m, ok := v.has(denies); ok {
		return m, false
	}
	return "", true
}

// isToolWideAllow reports whether a verdict allows a connection out of the sandbox by a rule that
// covers the tool as a whole. Such a rule does not apply, because a rule must name the host for
// that.
func isToolWideAllow(s *requestView, v Verdict) bool {
	return s.Confined && s.Operation == OpConnect && v.Effect == Allow && v.Rule != nil && !slices.Contains([]byte(v.Rule.Rule), '(')
}
