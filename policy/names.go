package policy

import (
	"fmt"
	"slices"
)

type toolNameAllowlist struct{ names map[string]bool }

type toolNameDenylist struct{ names map[string]bool }

// ReadOnly allows requests that change nothing and denies all others (the Open Agent SDK's
// ReadOnlyPolicy). If a tool claims to be read-only, the claim does not apply to writes and
// commands.
type ReadOnly struct{}

// ToolNames is a list of tool names, compared exactly; see [ToolNames.Allow] and [ToolNames.Deny].
type ToolNames []string

// Allow returns a policy that allows the tools on the list and denies all others (the Open Agent
// SDK's ToolNameAllowlistPolicy). An empty list and an invalid tool name are errors that wrap
// [ErrInvalid].
func (n ToolNames) Allow() (Policy, error) {
	set, err := n.set("allowlist")
	if err != nil {
		return nil, err
	}
	return &toolNameAllowlist{set}, nil
}

// Deny returns a policy that denies the tools on the list and has no opinion on all others. (The
// Open Agent SDK's ToolNameDenylistPolicy allowed the rest.) Errors are the same as those of
// [ToolNames.Allow].
func (n ToolNames) Deny() (Policy, error) {
	set, err := n.set("denylist")
	if err != nil {
		return nil, err
	}
	return &toolNameDenylist{set}, nil
}

func (n ToolNames) set(list string) (map[string]bool, error) {
	if len(n) == 0 {
		return nil, fmt.Errorf("%w: the %s of tools is empty; hint: name a tool, or omit the list", ErrInvalid, list)
	}
	set := make(map[string]bool, len(n))
	for i, name := range n {
		if m := checkTool(name); m != nil {
			return nil, fmt.Errorf("%w: entry %d of the %s of tools: %w", ErrInvalid, i+1, list, m)
		}
		if slices.Contains([]byte(name), '*') {
			return nil, fmt.Errorf("%w: entry %d of the %s of tools: %q is a pattern; hint: use patterns in rules", ErrInvalid, i+1, list, name)
		}
		set[name] = true
	}
	return set, nil
}

// Evaluate allows or denies.
func (p *toolNameAllowlist) Evaluate(r Request) Verdict {
	if p.names[r.Tool] {
		return Verdict{Effect: Allow, Reason: fmt.Sprintf("Tool %q is on the allowlist", r.Tool)}
	}
	return Verdict{Effect: Deny, Reason: fmt.Sprintf("Tool %q is not on the allowlist", r.Tool)}
}

// Evaluate denies or has no opinion.
func (p *toolNameDenylist) Evaluate(r Request) Verdict {
	if p.names[r.Tool] {
		return Verdict{Effect: Deny, Reason: fmt.Sprintf("Tool %q is denied", r.Tool)}
	}
	return Verdict{}
}

// Evaluate allows or denies.
func (ReadOnly) Evaluate(r Request) Verdict {
	changes := r.Operation == OpWrite || r.Operation == OpExec || r.Operation == OpCommand
	if r.ReadOnly && !changes {
		return Verdict{Effect: Allow, Reason: fmt.Sprintf("Tool %q changes nothing", r.Tool)}
	}
	return Verdict{Effect: Deny, Reason: fmt.Sprintf("Tool %q is not read-only", r.Tool)}
}

func (p *toolNameAllowlist) judge(s *requestView) Verdict { return p.Evaluate(s.Request) }
func (p *toolNameDenylist) judge(s *requestView) Verdict  { return p.Evaluate(s.Request) }
func (p ReadOnly) judge(s *requestView) Verdict           { return p.Evaluate(s.Request) }
