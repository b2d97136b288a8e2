package policy

import "sync/atomic"

// DynamicRules are rules that come into force while a run lasts, as a limit: settings have
// changed, and what they deny and ask about from now on holds at once. Allow rules among
// them mean nothing. The zero value has no rules. It is safe for concurrent use.
type DynamicRules struct{ rules atomic.Pointer[Rules] }

// Set puts rules in the place of those that are there.
func (l *DynamicRules) Set(r *Rules) { l.rules.Store(r) }

// Evaluate denies, asks, or has no opinion.
func (l *DynamicRules) Evaluate(r Request) Verdict {
	if rules := l.rules.Load(); rules != nil {
		return tightens(rules.Evaluate(r))
	}
	return Verdict{}
}

func (l *DynamicRules) judge(s *requestView) Verdict {
	if rules := l.rules.Load(); rules != nil {
		return tightens(rules.judge(s))
	}
	return Verdict{}
}

// tightens leaves an opinion that allows out.
func tightens(v Verdict) Verdict {
	if v.Effect == Allow {
		return Verdict{}
	}
	return v
}
