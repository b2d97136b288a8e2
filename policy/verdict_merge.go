package policy

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// precedence is the rank of a verdict. The smallest rank wins; of equal ranks, the first verdict
// wins.
//
//	deny > ask to override a deny grant of the session
//	> ask that only the user answers (outside the sandbox, or by its nature)
//	> allow grant > ask > allow of the callback and policies > allow rules > the mode
type precedence int

const (
	rankDeny precedence = iota
	rankOverride
	rankOutside
	rankGrant
	rankAsk
	rankPolicy
	rankRule
	rankMode
)

// verdictSet collects the verdicts of all links of the chain for one request.
type verdictSet struct {
	decision *Decision // the verdicts are added to its Contributions
	several  bool      // the call has more than one request
	resource string
	input    json.RawMessage // the input of the request

	rank     precedence
	started  bool
	by       string
	deciding Verdict
	grant    string
	allowed  bool         // a link of the chain allowed, even if another link overrode it
	limited  bool         // the deciding verdict comes from a link that can only restrict
	mode     Contribution // verdict of the mode
	next     replaced
}

// add adds a verdict. Verdicts with an effect have a rank.
func (b *verdictSet) add(k precedence, by string, v Verdict, grant string) {
	b.contribute(by, v)
	if v.Effect == NoOpinion {
		return
	}
	if v.Effect == Allow && k != rankMode {
		b.allowed = true
	}
	if !b.started || k < b.rank {
		b.started, b.rank, b.by, b.deciding, b.grant, b.limited = true, k, by, v, grant, false
	}
}

func (b *verdictSet) contribute(by string, v Verdict) {
	s := Contribution{Policy: by, Verdict: v}
	if b.several {
		s.Resource = b.resource
	}
	b.decision.Contributions = append(b.decision.Contributions, s)
}

// note records why a link was not evaluated.
func (b *verdictSet) note(by, why string) { b.contribute(by, Verdict{Reason: why}) }

func (b *verdictSet) denied() bool { return b.started && b.rank == rankDeny }

// limit adds the verdict of a hard limit. Only a deny or an ask of the limit applies. An allow is
// treated as no opinion, because a limit can only restrict.
func (b *verdictSet) limit(by string, v Verdict) {
	switch v.Effect {
	case Deny:
		b.add(rankDeny, by, v, "")
	case Ask:
		b.doubt(by, v)
	case Allow, NoOpinion:
		b.note(by, v.Reason)
	}
}

// doubt adds the ask of a link that can only restrict, not allow.
func (b *verdictSet) doubt(by string, v Verdict) {
	first := !b.started || rankAsk < b.rank
	b.add(rankAsk, by, v, "")
	b.limited = b.limited || first
}

// opinion adds the verdict of the callback or a policy.
func (b *verdictSet) opinion(by string, v Verdict) {
	switch v.Effect {
	case Deny:
		b.add(rankDeny, by, v, "")
	case Ask:
		b.add(rankAsk, by, v, "")
	case Allow:
		if v.Input != nil && jsonscan.Equal(v.Input, b.input) {
			v.Input = nil
		}
		if v.Input != nil && b.next.input == nil {
			b.next = replaced{input: v.Input, by: by, verdict: Contribution{Policy: by, Verdict: v}}
		}
		b.add(rankPolicy, by, v, "")
	case NoOpinion:
		b.note(by, v.Reason)
	}
}

// rules adds the verdict of the rules. In plan mode they do not allow changes.
func (b *verdictSet) rules(by string, v Verdict, in *decisionInput, k actionKind) {
	switch {
	case v.Effect == Deny:
		b.add(rankDeny, by, v, "")
	case v.Effect == Ask:
		b.add(rankAsk, by, v, "")
	case v.Effect == Allow && k.changes() && in.plans():
		v.Effect, v.Reason = NoOpinion, v.Reason+"; it does not apply in plan mode"
		b.contribute(by, v)
	default:
		b.add(rankRule, by, v, "")
	}
}

// hook adds the verdict of a hook. An allow skips the mode's approval request but does not override
// the mode's deny. An ask can only restrict; see [verdictSet.close].
func (b *verdictSet) hook(h Contribution, in *decisionInput, k actionKind) {
	switch h.Effect {
	case Deny:
		b.add(rankDeny, h.Policy, h.Verdict, "")
	case Ask:
		b.doubt(h.Policy, h.Verdict)
	case Allow:
		b.addWeakAllow(h, "", in, k)
	case NoOpinion:
		b.note(h.Policy, h.Reason)
	}
}

// addWeakAllow adds an allow that the user did not give, such as an allow from a hook or a weak
// grant. It overrides neither a deny of the mode nor plan mode.
func (b *verdictSet) addWeakAllow(h Contribution, grant string, in *decisionInput, k actionKind) {
	effect, mode := in.decide(k)
	if effect == Deny || k.changes() && in.plans() {
		h.Effect, h.Reason = NoOpinion, strings.TrimPrefix(h.Reason+"; that does not override "+mode.link(), "; ")
		b.contribute(h.Policy, h.Verdict)
		return
	}
	b.add(rankPolicy, h.Policy, h.Verdict, grant)
}

// grants adds the decision of the run's grants. A deny overrides an allow, and an allow of the user
// overrides a weak one.
func (b *verdictSet) grants(list []*grant, s *requestView, in *decisionInput, k actionKind) {
	if len(list) == 0 {
		return
	}
	var deny, allow *grant
	for _, g := range list {
		switch {
		case g.Effect == Deny && deny == nil && g.covers(s):
			deny = g
		case g.Effect == Allow && (allow == nil || allow.Weak && !g.Weak) && g.covers(s):
			allow = g
		}
	}
	switch {
	case deny != nil && s.Override:
		b.add(rankOverride, grantsName, Verdict{Effect: Ask, Reason: deny.Name + " denies it; the tool requests an exception for this call"}, deny.ID)
	case deny != nil:
		b.add(rankDeny, grantsName, Verdict{Effect: Deny, Reason: deny.Name + deny.grantedBy()}, deny.ID)
	case allow != nil && allow.Weak:
		b.addWeakAllow(Contribution{Policy: grantsName, Verdict: Verdict{Effect: Allow, Reason: allow.Name + allow.grantedBy()}}, allow.ID, in, k)
	case allow != nil:
		b.add(rankGrant, grantsName, Verdict{Effect: Allow, Reason: allow.Name + allow.grantedBy()}, allow.ID)
	default:
		b.note(grantsName, "")
	}
}

// close applies the modes if the merged effect is ask. If a mode never asks, the call is denied. If
// the ask comes from a link that can only restrict, the mode denies, and no link allowed the call,
// the call is also denied: such an ask must not replace the mode's deny.
func (b *verdictSet) close(v *decisionInput) {
	if b.deciding.Effect != Ask {
		return
	}
	if silent, ok := v.has(Mode.silences); ok {
		b.deciding.Effect, b.deciding.Reason = Deny, b.deciding.Reason+" ("+silent.link()+" never asks)"
		b.by, b.grant = silent.link(), ""
		b.contribute(b.by, Verdict{Effect: Deny, Reason: b.deciding.Reason})
		return
	}
	if b.limited && !b.allowed && b.mode.Effect == Deny {
		b.by, b.deciding, b.grant = b.mode.Policy, b.mode.Verdict, ""
	}
}

// decide writes the merged verdict into the decision about the call.
func (b *verdictSet) decide() {
	d := b.decision
	d.Effect, d.By, d.Reason, d.Rule, d.Stop = b.deciding.Effect, b.by, b.deciding.Reason, b.deciding.Rule, false
	d.AskReason, d.Grant = "", b.grant
	switch d.Effect {
	case Deny:
		d.Stop, d.Input = b.deciding.Stop, nil
	case Ask:
		d.AskReason = record.ReasonAsk
		if b.rank == rankOverride {
			d.AskReason = record.ReasonOverride
		}
	case Allow, NoOpinion:
	}
}
