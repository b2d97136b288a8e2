package tools

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/tool"
)

// Flags returns the permissions of a spec as a settings layer.
func Flags(spec *runspec.Spec) (settings.Flags, error) {
	p := &spec.Permissions
	out := settings.Flags{Mode: policy.Mode(p.Mode), OnAsk: settings.UnattendedPolicy(p.Unattended), NoHooks: spec.Hooks.Disabled}
	var err error
	if out.AskTimeout, err = p.Timeout(); err != nil {
		return out, err
	}
	if out.Allow, err = splitRules("--allowed-tools", p.Allow); err != nil {
		return out, err
	}
	out.Deny, err = splitRules("--disallowed-tools", p.Deny)
	return out, err
}

// splitRules splits the rules of a flag.
func splitRules(flag string, values []string) ([]settings.Flag, error) {
	var rules []settings.Flag
	for _, text := range values {
		words := patterns.SplitRules(text)
		if len(words) == 0 {
			return nil, outcome.Invalid(flag+" is empty", "name a tool or omit the flag")
		}
		for _, word := range words {
			rules = append(rules, settings.Flag{Name: flag, Text: word})
		}
	}
	return rules, nil
}

// RuleTool returns the tool of a rule: the text before its parenthesis.
func RuleTool(rule string) (tool string, bare bool) {
	tool, what, some := strings.Cut(rule, "(")
	return tool, !some || strings.TrimSpace(strings.TrimSuffix(what, ")")) == "*"
}

// hidden returns a function that reports whether Glob and Grep must omit a file from their results.
// They omit files that rules or limits deny. They also omit files that can be read only with
// approval, because a search requests approval only for its folder. Approval for the session's
// whole folder is requested by the search itself and hides nothing. Nil hides nothing.
func hidden(rules []policy.RuleSource, config *policy.Config) func(abs string) bool {
	restricts := func(r policy.RuleSource) bool { return r.Effect != policy.Allow }
	secrets := config.Mode != policy.ModeBypass
	if !secrets && len(config.Limits) == 0 && !slices.ContainsFunc(rules, restricts) {
		return nil
	}
	var limits []policy.Policy
	for _, l := range config.Limits {
		limits = append(limits, l.Policy)
	}
	read := func(abs string) policy.Request {
		return policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: abs, ReadOnly: true}
	}
	everywhere := len(config.Folders) > 0 && config.Rules.Evaluate(read(config.Folders[0])).Effect == policy.Ask
	return func(abs string) bool {
		r := read(abs)
		for _, l := range limits {
			if l.Evaluate(r).Effect == policy.Deny {
				return true
			}
		}
		switch config.Rules.Evaluate(r).Effect {
		case policy.Deny:
			return true
		case policy.Ask:
			return !everywhere || secrets && r.ReadsSecret()
		case policy.Allow:
			return false
		case policy.NoOpinion:
		}
		return secrets && r.ReadsSecret()
	}
}

// RemoveDenied removes the tools that a rule denies completely, so that the model does not try
// them. A rule that names a server removes all its tools.
func RemoveDenied(all *tool.Registry, rules []policy.RuleSource) *tool.Registry {
	var denied []string
	for _, s := range all.Specs() {
		if slices.ContainsFunc(rules, func(r policy.RuleSource) bool {
			name, bare := RuleTool(r.Text)
			return r.Effect == policy.Deny && bare && (matchName(name, s.Name) || isMCPTool(name) && matchName(name+"__*", s.Name))
		}) {
			denied = append(denied, s.Name)
		}
	}
	return all.Exclude(denied...)
}

// matchName compares a tool's name with a pattern that may contain stars.
func matchName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}
