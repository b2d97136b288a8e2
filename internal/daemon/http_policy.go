package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *service) policyHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"getSessionPolicy":   a.getPolicy,
		"patchSessionPolicy": a.patchPolicy,
		"listGrants":         a.listGrants,
		"revokeGrant":        a.revokeGrant,
		"getPolicy":          a.folderPolicy,
		"testPolicy":         a.testPolicy,
	}
}

// policyOf returns the policy of the active run, or the recorded policy if the run is not active.
func (a *service) policyOf(ctx context.Context, m session.Meta) (*api.Policy, error) {
	chains, grants, err := a.o.Runs.Chains(runOf(m))
	if isInactive(err) || err == nil && len(chains) == 0 {
		return a.recordedPolicy(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	p := &api.Policy{Running: true, Mode: chains[0].Mode, Chains: chains, Grants: unique(grants)}
	for _, c := range chains {
		p.Version = max(p.Version, c.Version)
	}
	return p, nil
}

func (a *service) recordedPolicy(ctx context.Context, m session.Meta) (*api.Policy, error) {
	m, err := sessionpolicy.PolicySession(ctx, a.o.Sessions, m)
	if err != nil {
		return nil, err
	}
	g, err := sessionpolicy.Guards(ctx, a.o.Sessions, m)
	if err != nil {
		return nil, err
	}
	return &api.Policy{
		Version: g.Version(), Mode: g.Mode(), Chains: []policy.Chain{g.Guard("").Chain()}, Grants: unique(g.Grants()),
	}, nil
}

// unique removes duplicate grants, because each agent of a run has the same ones.
func unique(list []policy.Grant) []policy.Grant {
	out := []policy.Grant{}
	for _, g := range list {
		if !slices.ContainsFunc(out, func(o policy.Grant) bool { return o.ID == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// runOf returns the run that a session belongs to.
func runOf(m session.Meta) string { return cmp.Or(m.Owner, m.ID) }

func isInactive(err error) bool {
	e, ok := errors.AsType[*runs.Error](err)
	return ok && e.Code == wire.CodeRunNotFound
}

func (a *service) getPolicy(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	return a.writePolicy(c, m)
}

func (a *service) writePolicy(c *call, m session.Meta) error {
	p, err := a.policyOf(c.ctx(), m)
	if err != nil {
		return err
	}
	c.header("ETag", etag(int64(p.Version)))
	return c.json(p)
}

// changeOf returns the policy change that a request asks for.
func changeOf(p *api.PolicyChange) (policy.Change, error) {
	if (p.Patch == nil) == (p.Mode == "") {
		return policy.Change{}, refuse(outcome.Usage, "one of patch and mode is required", "")
	}
	if p.Mode != "" {
		mode, err := parseMode(string(p.Mode))
		return policy.Change{Mode: mode}, err
	}
	if p.Patch.Dir != "" {
		return policy.Change{}, refuse(outcome.Usage, "patch.dir is not supported: globs are relative to the session's folder", "use absolute globs")
	}
	return policy.Change{Patch: p.Patch}, nil
}

func (a *service) patchPolicy(c *call) error {
	var q api.PolicyChange
	if err := c.into(&q); err != nil {
		return err
	}
	change, err := changeOf(&q)
	if err != nil {
		return err
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if c.r.Header.Get("If-Match") == "" {
		return refuse(outcome.NeedsIfMatch, "the header If-Match is required: the version that the change applies to", "GET the policy and send its ETag")
	}
	version, only, err := c.parseIfMatch()
	if err != nil {
		return err
	}
	if only {
		v := int(version)
		change.IfVersion = &v
	}
	if err := a.changePolicy(c, m, change); err != nil {
		return err
	}
	if m, err = a.o.Sessions.Get(c.ctx(), m.ID); err != nil {
		return err
	}
	return a.writePolicy(c, m)
}

// changePolicy changes the policy of a running run, or of a session that is not running here.
func (a *service) changePolicy(c *call, m session.Meta, change policy.Change) error {
	by := c.actor()
	change.By = by.Name
	if _, err := a.o.Runs.Change(c.ctx(), runOf(m), change, by); !isInactive(err) {
		return err
	}
	if change.Mode == policy.ModeBypass {
		return refuse(outcome.Conflict, "the session is not running here, and a resumed run does not keep bypassPermissions",
			"set the mode when you resume it")
	}
	m, err := sessionpolicy.PolicySession(c.ctx(), a.o.Sessions, m)
	if err != nil {
		return err
	}
	_, err = sessionpolicy.Change(c.ctx(), a.o.Sessions, m.ID, func(*policy.Guards) (policy.Change, error) { return change, nil })
	return err
}

func (a *service) listGrants(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	p, err := a.policyOf(c.ctx(), m)
	if err != nil {
		return err
	}
	return c.json(api.Page[policy.Grant]{Items: p.Grants})
}

func (a *service) revokeGrant(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if err := a.changePolicy(c, m, policy.Change{Revoke: c.path("grant")}); err != nil {
		return err
	}
	return c.noContent()
}

func (a *service) folderPolicy(c *call) error {
	cwd := c.query["cwd"]
	if !filepath.IsAbs(cwd) {
		return refuse(outcome.Usage, "cwd must be absolute", "")
	}
	s, err := a.o.Env.SettingsFor(cwd)
	if err != nil {
		return err
	}
	d, err := policycheck.Describe(s, nil)
	return c.document(d, err)
}

// testPolicy tests a call against a folder's settings, or with a session's grants.
func (a *service) testPolicy(c *call) error {
	var q api.PolicyTest
	if err := c.into(&q); err != nil {
		return err
	}
	const example = `send {"cwd": "/w", "tool": "Bash", "input": {"command": "ls"}}`
	switch {
	case q.Tool == "" || len(q.Input) == 0 || !filepath.IsAbs(q.Cwd):
		return refuse(outcome.Usage, "an absolute cwd, tool and input are required", "")
	case q.Input[0] != '{':
		return refuse(outcome.Usage, "tool and input are required; input must be an object", example)
	}
	mode := policy.Mode(q.Mode)
	if mode != "" {
		if err := policy.Mode(q.Mode).Check(); err != nil {
			return refuse(outcome.Usage, err.Error(), example)
		}
	}
	var changes []json.RawMessage
	if q.Session != "" {
		m, err := a.o.Sessions.Get(c.ctx(), q.Session)
		if err != nil {
			return err
		}
		if changes, err = sessionpolicy.Changes(c.ctx(), a.o.Sessions, m); err != nil {
			return err
		}
	}
	s, err := a.o.Env.SettingsFor(q.Cwd)
	if err != nil {
		return err
	}
	j := policycheck.New(s, a.o.Env.UserHome(), a.o.Env.Lookup(tools.EnvSearchURL))
	g, err := j.Guards("", "")
	if err == nil {
		err = g.Replay(changes)
	}
	if err == nil && mode != "" {
		if err = s.CheckMode(mode); err == nil {
			err = g.Apply(policy.Change{Mode: mode})
		}
	}
	if err != nil {
		return err
	}
	d, requests, err := j.Decide(c.ctx(), g, policycheck.Call{Tool: q.Tool, Input: q.Input})
	if err != nil {
		return refuse(outcome.Usage, q.Tool+": "+err.Error(), "send the complete input of the tool")
	}
	return c.document(policycheck.Explain(&d, requests, g.Cwd), nil)
}

func notImplemented() error {
	return refuse(outcome.NotOffered, "this daemon does not offer this operation", "GET /v1/info lists its capabilities")
}

func parseMode(s string) (policy.Mode, error) {
	mode := policy.Mode(s)
	if err := mode.Check(); err != nil {
		return "", wrapProblem(outcome.Usage, "", err)
	}
	return mode, nil
}
