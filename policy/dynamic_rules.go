package policy

import "sync/atomic"

// DynamicRules are rules that take effect as a limit during a run. After a settings change, new
// deny and ask rules apply immediately. Allow rules are ignored. The zero value has no rules. It is
// safe for concurrent use.
type DynamicRules struct{ rules atomic.Pointer[Rules] }

// Set replaces the rules.
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

// tightens removes an opinion if its effect is allow.
func tightens(v Verdict) Verdict {
	if v.Effect == Allow {
		return Verdict{}
	}
	return v
}
