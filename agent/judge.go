package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// policyVersion identifies the policy behind a decision. The decision is valid until the version
// changes.
type policyVersion struct {
	version   int
	callbacks int64
}

func (a *Agent) policyVersion() policyVersion {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	return policyVersion{a.guards.Version(), a.shared.callbacks}
}

// judge asks the tool's guard about a call. An error comes from the tool and means that the input
// is invalid.
func (l *loop) judge(ctx context.Context, c *call) error {
	now := l.a.policyVersion()
	if c.requests != nil && c.judged == now {
		return nil
	}
	c.call.Input = c.input()
	var err error
	reqs := c.hooks.shown
	if c.hooks.shown = nil; reqs == nil || c.hooks.input != nil {
		if reqs, err = l.requests(c, c.call.Input); err != nil {
			return err
		}
	}
	d := l.decide(ctx, c, reqs, c.call.Input)
	if d.Input == nil && d.Effect != policy.Deny {
		d.Input = c.hooks.input
	} else if d.Input != nil {
		if d, reqs, err = l.judgeChanged(ctx, c, d); err != nil {
			return err
		}
	}
	if u, ok := c.tool.(toolext.NoApproval); ok && d.Effect != policy.Deny {
		if by := u.RunsWithoutApproval(c.call); by != "" {
			d.Effect, d.By, d.Reason, d.Rule, d.Input = policy.Allow, by, "the tool runs this call without approval", nil, nil
		}
	}
	c.requests, c.decision, c.judged = reqs, d, now
	if l.takeUpdates(ctx, &d) {
		c.judged = l.a.policyVersion() // updates that come with an answer apply to the calls after this one
	}
	return nil
}

// takeUpdates applies the policy updates that came with an allow, and reports whether there were any.
// An update that fails is reported as a notice, and the call continues.
func (l *loop) takeUpdates(ctx context.Context, d *policy.Decision) (changed bool) {
	if d.Effect != policy.Allow {
		return false
	}
	for _, s := range d.Contributions {
		for _, u := range s.Updates {
			if err := l.a.takeUpdate(ctx, s.Policy, u); err != nil {
				l.publish(event.Notice{Text: fmt.Sprintf("%s: cannot change the policy: %v", s.Policy, err)})
				continue
			}
			changed = true
		}
	}
	return changed
}

// takeUpdate applies one update. Its allow rules are weaker than every ask of the policy.
func (a *Agent) takeUpdate(ctx context.Context, by string, u policy.Update) error {
	if u.Mode != "" {
		if _, err := a.Change(ctx, policy.Change{Mode: u.Mode, By: by}); err != nil {
			return err
		}
	}
	for _, rule := range u.Rules {
		g := policy.Grant{Effect: u.Effect, Scope: rule, By: by, Weak: u.Effect == policy.Allow}
		g.Tool, _, _ = strings.Cut(rule, "(")
		if _, err := a.Change(ctx, policy.Change{Grant: &g, By: by}); err != nil {
			return err
		}
	}
	return nil
}

// judgeChanged judges a call again after a policy has changed its input. If hooks had verdicts about
// the call, they run again with the new input. If no hook had a verdict, the hooks do not run
// again, and the callback decides last, as in the Open Agent SDK.
func (l *loop) judgeChanged(ctx context.Context, c *call, d policy.Decision) (policy.Decision, []policy.Request, error) {
	input := jsonscan.Compact(d.Input)
	c.call.Input = input
	reqs, err := l.requests(c, input)
	if d.Input = input; err != nil || len(c.hooks.verdicts) == 0 {
		return d, reqs, err
	}
	l.refirePreToolUse(ctx, c, input)
	changed := slices.DeleteFunc(slices.Clone(d.Contributions), func(s policy.Contribution) bool { return s.Input == nil })
	c.hooks.input = input
	d = l.decide(ctx, c, reqs, input)
	d.Contributions = append(changed, d.Contributions...)
	switch {
	case d.Effect == policy.Deny:
	case d.Input == nil || bytes.Equal(jsonscan.Compact(d.Input), input):
		d.Input = input
	default:
		d.Effect, d.Rule, d.Grant, d.AskReason, d.Input = policy.Deny, nil, "", "", nil
		d.Reason = "the input changed again after the hooks ran"
	}
	return d, reqs, nil
}

// decide judges the requests of a call with an input.
func (l *loop) decide(ctx context.Context, c *call, reqs []policy.Request, input json.RawMessage) policy.Decision {
	return l.decideWithout(ctx, "", c, reqs, input)
}

// decideWithout is like decide but ignores one grant.
func (l *loop) decideWithout(ctx context.Context, grant string, c *call, reqs []policy.Request, input json.RawMessage) policy.Decision {
	d := l.a.guards.Guard(c.use.Name).WithoutGrant(grant).Judge(ctx, reqs, func(input json.RawMessage) ([]policy.Request, error) {
		return l.requests(c, input)
	}, c.hooks.contributions(input)...)
	d.Touches = targetsOf(reqs)
	d.Use, d.Tool, d.Agent = c.use.ID, c.use.Name, l.a.opt.AgentName
	d.Sandbox, d.Profile = l.a.sandboxSummary(reqs)
	return d
}

// sandboxSummary returns the name and the profile digest of the sandbox that a call would run in.
// The name is "none" if a request runs outside the sandbox, or if there is a profile and no request
// is confined. Both results are "" for questions and forms.
func (a *Agent) sandboxSummary(reqs []policy.Request) (name, profile string) {
	confined := func(r policy.Request) bool { return r.Confined }
	outside := func(r policy.Request) bool { return r.Unsandboxed }
	if len(reqs) > 0 && !slices.ContainsFunc(reqs, func(r policy.Request) bool { return !r.Words() }) {
		return "", ""
	}
	if slices.ContainsFunc(reqs, outside) || a.opt.Permissions.Profile != "" && !slices.ContainsFunc(reqs, confined) {
		return "none", ""
	}
	return a.opt.Permissions.Sandbox, a.opt.Permissions.Profile
}

// requests returns what the call would do if it ran with input. For a call without requests it
// returns one request about the tool itself.
func (l *loop) requests(c *call, input json.RawMessage) ([]policy.Request, error) {
	as := *c.call
	as.Input = input
	return l.requestsOf(c, as)
}

func (l *loop) requestsOf(c *call, as tool.Call) ([]policy.Request, error) {
	input := jsonscan.Compact(as.Input)
	as.Input = input
	reqs, err := c.tool.Requests(&as)
	if err != nil {
		return nil, err
	}
	if len(reqs) == 0 {
		reqs = []policy.Request{{Resource: c.use.Name, ReadOnly: c.tool.Spec().ReadOnly}}
	}
	for i := range reqs {
		r := &reqs[i]
		r.Session, r.Agent, r.Tool = l.opened.ID, l.a.opt.AgentName, c.use.Name
		if r.Input == nil {
			r.Input = input
		}
		if r.Operation == policy.OpCommand && r.Cwd == "" {
			r.Cwd = l.cwd()
		}
	}
	return reqs, nil
}

// cwd returns the default folder of a command.
func (l *loop) cwd() string { return l.a.cwd() }

// refusal returns the text of a denial for the model.
func refusal(d policy.Decision) string {
	switch {
	case strings.HasPrefix(d.By, "hook "):
		return cmp.Or(d.Reason, "Tool execution blocked by hook")
	case d.By == byNobody && strings.HasPrefix(d.Reason, "Permission required"):
		return d.Reason + ", and no one can answer"
	case d.By == byNobody:
		return fmt.Sprintf("Permission required for tool %q (%s), and no one can answer", d.Tool, d.Reason)
	case d.Reason == "":
		return fmt.Sprintf("Permission denied for tool %q", d.Tool)
	}
	return "permission denied: " + d.Reason
}

// byNobody is the actor of a denial that is made because a call needs approval and no one can
// answer.
const byNobody = "nobody"
