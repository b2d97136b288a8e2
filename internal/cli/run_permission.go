package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
)

// settings reads what applies in a run, flags included.
func (c *agentFlags) settings(p *Program, cwd string) (*settings.Settings, error) {
	files, err := p.settingsFiles(c.Settings)
	if err != nil {
		return nil, err
	}
	o, err := p.settingsOptions(cwd, files)
	if err != nil {
		return nil, err
	}
	if o.Flags, err = c.flags(); err != nil {
		return nil, err
	}
	o.Flags.NoHooks, o.Given = c.NoHooks, c.given
	if err := c.into(p, o); err != nil {
		return nil, err
	}
	for _, dir := range c.AddDir {
		abs, err := p.folder(dir)
		if err != nil {
			return nil, err
		}
		o.Flags.Folders = append(o.Flags.Folders, abs)
	}
	return settings.Load(o)
}

// unattended answers questions when no terminal is there. Nil denies.
func unattended(way settings.OnAsk) func(context.Context, approval.Question) (approval.Answer, error) {
	switch way {
	case settings.OnAskWait:
		return func(ctx context.Context, _ approval.Question) (approval.Answer, error) {
			<-ctx.Done() // somebody has answered elsewhere, time is up, or the run is interrupted
			return approval.Answer{}, context.Cause(ctx)
		}
	case settings.OnAskFail:
		return func(context.Context, approval.Question) (approval.Answer, error) {
			return approval.Answer{}, approval.ErrLeave
		}
	case settings.OnAskDeny:
	}
	return nil
}

// hidden reports which files are kept out of what Glob and Grep find: those that
// rules and limits deny, and those that reading would be asked about, since a search
// asks only about the folder. A question about the whole session's folder is asked
// by the search itself and hides nothing. Nil hides nothing at all.
func hidden(rules []policy.RuleSource, config *policy.Config) func(abs string) bool {
	forbids := func(r policy.RuleSource) bool { return r.Effect != policy.Allow }
	secrets := config.Mode != policy.ModeBypass
	if !secrets && len(config.Limits) == 0 && !slices.ContainsFunc(rules, forbids) {
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
			return !everywhere || secrets && policy.IsSecret(abs)
		case policy.Allow:
			return false
		case policy.None:
		}
		return secrets && policy.IsSecret(abs)
	}
}

// withoutDenied takes the tools away that a rule denies altogether, so that the
// model does not try them. The name of a server is that of all its tools.
func withoutDenied(all *tool.Registry, rules []policy.RuleSource) *tool.Registry {
	var gone []string
	for _, s := range all.Specs() {
		if slices.ContainsFunc(rules, func(r policy.RuleSource) bool {
			name, bare := ruleTool(r.Text)
			return r.Effect == policy.Deny && bare && (matchName(name, s.Name) || isMCPTool(name) && matchName(name+"__*", s.Name))
		}) {
			gone = append(gone, s.Name)
		}
	}
	return all.Without(gone...)
}

// matchName compares a tool's name with one that may hold stars.
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
