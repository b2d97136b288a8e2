package runmodel

import (
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// policyState is what decides about the calls of a run: the whole of it, for
// every agent of the run.
type policyState struct {
	mode    policy.Mode
	grants  []grant
	patches []patch
}

// grant is what a person decided for the session, about exactly one tool and resource.
type grant struct {
	effect   policy.Effect
	tool     string
	resource string
}

// patch is a path that may or may not be written.
type patch struct {
	effect policy.Effect
	path   string
}

// change is one change of a policyState.
type change struct {
	mode   policy.Mode
	grant  *grant
	patch  *patch
	revoke *grant
}

// with is the state after a change.
func (s policyState) with(c change) policyState {
	switch {
	case c.mode != "":
		s.mode = c.mode
	case c.grant != nil:
		s.grants = append(slices.Clip(s.grants), *c.grant)
	case c.patch != nil:
		s.patches = append(slices.Clip(s.patches), *c.patch)
	case c.revoke != nil:
		s.grants = slices.Clone(s.grants)
		if i := slices.Index(s.grants, *c.revoke); i >= 0 {
			s.grants = slices.Delete(s.grants, i, i+1)
		}
	}
	return s
}

// The fake tools, by what they do.
const (
	toolLook = "Look" // reads a file
	toolEdit = "Edit" // writes a file
	toolPost = "Post" // does something that has no name
)

// verdict is what a mode says to a tool: the table of docs/reference/permissions.md for the
// kinds "read", "edit" and "other".
func verdict(m policy.Mode, tool string) policy.Effect {
	switch m {
	case policy.ModeBypass, policy.ModeAuto:
		return policy.Allow
	case policy.ModeRestricted:
		return policy.Deny
	case policy.ModeAcceptEdits:
		if tool == toolPost {
			return policy.Ask
		}
		return policy.Allow
	case policy.ModeSilent, policy.ModeDontAsk:
		if tool == toolLook {
			return policy.Allow
		}
		return policy.Deny
	}
	if tool == toolLook {
		return policy.Allow
	}
	return policy.Ask
}

// strength orders verdicts: deny over ask over allow.
func strength(e policy.Effect) int {
	return slices.Index([]policy.Effect{policy.Allow, policy.Ask, policy.Deny}, e)
}

// decide is the law about who may run what: deny over grant over ask over allow, and a
// sub-agent has the stricter answer of its own modes and the run's.
func (s policyState) decide(own []policy.Mode, tool, resource string) policy.Effect {
	var allowed bool
	for _, g := range s.grants {
		if g.tool != tool || g.resource != resource {
			continue
		}
		if g.effect == policy.Deny {
			return policy.Deny
		}
		allowed = true
	}
	var patched bool
	for _, p := range s.patches {
		if tool != toolEdit || p.path != resource {
			continue
		}
		if p.effect == policy.Deny {
			return policy.Deny
		}
		patched = true
	}
	if allowed {
		return policy.Allow
	}
	modes := append([]policy.Mode{s.mode}, own...)
	if patched && !slices.Contains(modes, policy.ModePlan) { // a list opens nothing in plan mode
		return policy.Allow
	}
	worst := policy.Allow
	for _, m := range modes {
		if e := verdict(m, tool); strength(e) > strength(worst) {
			worst = e
		}
	}
	return worst
}

// delegates reports whether the tool that begins sub-agents may run.
func (s policyState) delegates() bool { return verdict(s.mode, toolLook) == policy.Allow }
