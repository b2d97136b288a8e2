package policy

import "slices"

// sandboxName is the link that speaks for the kernel sandbox: it asks about what
// would run outside, and allows what runs inside where [Config.AutoAllowConfined]
// says so.
const sandboxName = "sandbox"

const bashTool = "Bash"

const outsideReason = "it would run outside the sandbox, which only a person can allow, each time"

const opensReason = "the sandbox refuses it; only a person opens the sandbox"

// askSandbox takes in the question about what the sandbox refuses a command: a write, or a kind of sockets.
// A person's decision for the session answers it. Rules, hooks, callbacks and policies are about calls
// and do not open the sandbox.
func (b *verdictSet) askSandbox(s *requestView) {
	if s.Opens() {
		b.doubt(sandboxName, Verdict{Effect: Ask, Reason: opensReason})
	}
}

// autoAllow reports whether a request is one that autoAllowBashIfSandboxed is about.
func (src *runGuards) autoAllow(s *requestView) bool {
	return src.confined != nil && s.Confined && !s.Unsandboxed && s.Tool == bashTool && s.Operation == OpCommand
}

// outside takes in the question about a command outside of the sandbox. Nobody but
// a person answers it, so it counts more than every allow; what a mode denies, it
// does not soften.
func (b *verdictSet) outside(s *requestView) {
	if !s.Unsandboxed {
		return
	}
	first := !b.started || rankOutside < b.rank
	b.add(rankOutside, sandboxName, Verdict{Effect: Ask, Reason: outsideReason}, "")
	b.limited = b.limited || first
}

// personName is the link that speaks for what only a person decides.
const personName = "person"

const personReason = "only a person decides about it, each time"

// person takes in the question about a call that only a person decides about. Like that
// about a command outside of the sandbox it counts more than every allow, and does not
// soften what a mode denies.
func (b *verdictSet) person(s *requestView) {
	if !s.Person {
		return
	}
	first := !b.started || rankOutside < b.rank
	b.add(rankOutside, personName, Verdict{Effect: Ask, Reason: personReason}, "")
	b.limited = b.limited || first
}

// confined takes in the permission for a command that runs in the sandbox: it
// stands where the mode would ask, or would deny because it asks nobody.
func (b *verdictSet) confined(src *runGuards, v *decisionInput, k actionKind) {
	switch by, asks := v.question(k); {
	case v.plans():
		b.note(sandboxName, "autoAllowBashIfSandboxed does not count in plan mode")
	case !asks:
		b.note(sandboxName, "autoAllowBashIfSandboxed answers no denial of "+by.link())
	default:
		rule := *src.confined
		b.add(rankRule, sandboxName, Verdict{Effect: Allow, Reason: "it runs in the sandbox (autoAllowBashIfSandboxed)", Rule: &rule}, "")
	}
}

// question reports whether all that the modes that hold have against a kind is
// that somebody should be asked; if not, which one denies.
func (v *decisionInput) question(k actionKind) (Mode, bool) {
	denies := func(m Mode) bool { return m.decide(k) == Deny && !m.silences() }
	if m, ok := v.has(denies); ok {
		return m, false
	}
	return "", true
}

// everyUse reports whether an allow rule is about a tool as a whole. To reach out
// of the sandbox a rule must name the host.
func everyUse(s *requestView, v Verdict) bool {
	return s.Confined && s.Operation == OpConnect && v.Effect == Allow && v.Rule != nil && !slices.Contains([]byte(v.Rule.Rule), '(')
}
