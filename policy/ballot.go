package policy

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// rank is how much an answer counts: the smallest wins, the first of equals.
//
//	deny of anybody > a question about overriding a session deny > a question that only a
//	person answers (outside the sandbox, or by its nature) > session allow > ask of anybody > allow of the callback and policies > allow rules > the mode
type rank int

const (
	rankDeny rank = iota
	rankOverride
	rankOutside
	rankGrant
	rankAsk
	rankPolicy
	rankRule
	rankMode
	rankNone
)

// ballot collects what the links say to one request.
type ballot struct {
	decision *Decision // whose Said is written
	several  bool      // the call has more than one request
	resource string
	input    json.RawMessage // that the request was made from

	rank    rank
	started bool
	by      string
	won     Verdict
	grant   string
	allowed bool // somebody allowed, whether or not it counted
	limited bool // the answer that counts is of who only limits
	mode    Said // what the mode says
	next    replaced
}

// add takes an answer in. A rank is given to answers that have an effect.
func (b *ballot) add(k rank, by string, v Verdict, grant string) {
	b.say(by, v)
	if v.Effect == None {
		return
	}
	if v.Effect == Allow && k != rankMode {
		b.allowed = true
	}
	if !b.started || k < b.rank {
		b.started, b.rank, b.by, b.won, b.grant, b.limited = true, k, by, v, grant, false
	}
}

func (b *ballot) say(by string, v Verdict) {
	s := Said{Policy: by, Verdict: v}
	if b.several {
		s.Resource = b.resource
	}
	b.decision.Said = append(b.decision.Said, s)
}

// note says why a link was not asked.
func (b *ballot) note(by, why string) { b.say(by, Verdict{Reason: why}) }

func (b *ballot) denied() bool { return b.started && b.rank == rankDeny }

// limit takes in what a hard limit says: its deny and its ask count, its allow is
// no opinion, since a limit only limits.
func (b *ballot) limit(by string, v Verdict) {
	switch v.Effect {
	case Deny:
		b.add(rankDeny, by, v, "")
	case Ask:
		b.doubt(by, v)
	case Allow, None:
		b.note(by, v.Reason)
	}
}

// doubt takes in the ask of who only limits.
func (b *ballot) doubt(by string, v Verdict) {
	first := !b.started || rankAsk < b.rank
	b.add(rankAsk, by, v, "")
	b.limited = b.limited || first
}

// opinion takes in what the callback or a policy says.
func (b *ballot) opinion(by string, v Verdict) {
	switch v.Effect {
	case Deny:
		b.add(rankDeny, by, v, "")
	case Ask:
		b.add(rankAsk, by, v, "")
	case Allow:
		if v.Input != nil && sameInput(v.Input, b.input) {
			v.Input = nil
		}
		if v.Input != nil && b.next.input == nil {
			b.next = replaced{input: v.Input, by: by, said: Said{Policy: by, Verdict: v}}
		}
		b.add(rankPolicy, by, v, "")
	case None:
		b.note(by, v.Reason)
	}
}

// rules takes in what rules say. In plan mode they do not open what changes
// something.
func (b *ballot) rules(by string, v Verdict, in *view, k actionKind) {
	switch {
	case v.Effect == Deny:
		b.add(rankDeny, by, v, "")
	case v.Effect == Ask:
		b.add(rankAsk, by, v, "")
	case v.Effect == Allow && k.changes() && in.plans():
		v.Effect, v.Reason = None, v.Reason+"; it does not count in plan mode"
		b.say(by, v)
	default:
		b.add(rankRule, by, v, "")
	}
}

// hook takes in what a hook has said. Its allow passes the question of the mode,
// and not what the mode denies; its ask limits.
func (b *ballot) hook(h Said, in *view, k actionKind) {
	switch h.Effect {
	case Deny:
		b.add(rankDeny, h.Policy, h.Verdict, "")
	case Ask:
		b.doubt(h.Policy, h.Verdict)
	case Allow:
		b.weakly(h, "", in, k)
	case None:
		b.note(h.Policy, h.Reason)
	}
}

// weakly takes in an allow that no person gave, as it is said or as a grant.
func (b *ballot) weakly(h Said, grant string, in *view, k actionKind) {
	effect, mode := in.decide(k)
	if effect == Deny || k.changes() && in.plans() {
		h.Effect, h.Reason = None, strings.TrimPrefix(h.Reason+"; that does not open what "+mode.link()+" keeps shut", "; ")
		b.say(h.Policy, h.Verdict)
		return
	}
	b.add(rankPolicy, h.Policy, h.Verdict, grant)
}

// grants takes in what people decided for the run: denies first.
func (b *ballot) grants(list []*grant, s *subject, in *view, k actionKind) {
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
		b.add(rankOverride, grantsName, Verdict{Effect: Ask, Reason: deny.Name + " denies it; the tool asks for an exception, once"}, deny.ID)
	case deny != nil:
		b.add(rankDeny, grantsName, Verdict{Effect: Deny, Reason: deny.Name + deny.whose()}, deny.ID)
	case allow != nil && allow.Weak:
		b.weakly(Said{Policy: grantsName, Verdict: Verdict{Effect: Allow, Reason: allow.Name + allow.whose()}}, allow.ID, in, k)
	case allow != nil:
		b.add(rankGrant, grantsName, Verdict{Effect: Allow, Reason: allow.Name + allow.whose()}, allow.ID)
	default:
		b.note(grantsName, "")
	}
}

// close applies what modes do to questions. What a limit asks about stays denied
// where the mode denies it and nobody allowed it: a limit only limits.
func (b *ballot) close(v *view) {
	if b.won.Effect != Ask {
		return
	}
	if silent, ok := v.has(Mode.silences); ok {
		b.won.Effect, b.won.Reason = Deny, b.won.Reason+" ("+silent.link()+" asks nobody)"
		b.by, b.grant = silent.link(), ""
		b.say(b.by, Verdict{Effect: Deny, Reason: b.won.Reason})
		return
	}
	if b.limited && !b.allowed && b.mode.Effect == Deny {
		b.by, b.won, b.grant = b.mode.Policy, b.mode.Verdict, ""
	}
}

// decide makes the outcome the call's.
func (b *ballot) decide() {
	d := b.decision
	d.Effect, d.By, d.Reason, d.Rule, d.Stop = b.won.Effect, b.by, b.won.Reason, b.won.Rule, false
	d.Why, d.Grant = "", b.grant
	switch d.Effect {
	case Deny:
		d.Stop, d.Input = b.won.Stop, nil
	case Ask:
		d.Why = record.ReasonAsk
		if b.rank == rankOverride {
			d.Why = record.ReasonOverride
		}
	case Allow, None:
	}
}
