package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *api) policyRoutes() []route {
	one := []outcome.Outcome{outcome.NotFound}
	return []route{
		{
			method: http.MethodGet, path: "/v1/sessions/{id}/policy", id: "getSessionPolicy", tag: "policy",
			doc: "The chains of a session's run as they are: one for each tool of a run that runs; otherwise one, of what is on " +
				"record. The ETag is its version.",
			scope: auth.Read, answer: Policy{}, problems: one, serve: a.getPolicy,
		},
		{
			method: http.MethodPatch, path: "/v1/sessions/{id}/policy", id: "patchSessionPolicy", tag: "policy",
			doc:   "Adds path rules, or changes the mode. It counts from the next decision on, or when the session goes on.",
			scope: auth.Approve, header: []param{needed(ifMatch)}, body: policyPatch{}, answer: Policy{},
			problems: append(one, outcome.Conflict, outcome.Stale, outcome.NeedsIfMatch), serve: a.patchPolicy,
		},
		{
			method: http.MethodGet, path: "/v1/sessions/{id}/grants", id: "listGrants", tag: "policy",
			doc:   "What people decided for the rest of the session's run.",
			scope: auth.Read, answer: listOf[policy.Grant]{}, problems: one, serve: a.listGrants,
		},
		{
			method: http.MethodDelete, path: "/v1/sessions/{id}/grants/{grant}", id: "revokeGrant", tag: "policy",
			doc:   "Takes a grant back.",
			scope: auth.Approve, status: http.StatusNoContent, problems: one, serve: a.revokeGrant,
		},
		{
			method: http.MethodGet, path: "/v1/policy", id: "getPolicy", tag: "policy",
			doc:   "The chain of a folder's settings, in order, with origins: as holdfast policy show --json.",
			scope: auth.Read, query: []param{{name: "cwd", doc: "an absolute folder", needed: true}}, answer: json.RawMessage(nil),
			problems: []outcome.Outcome{outcome.NotOffered}, serve: a.folderPolicy,
		},
		{
			method: http.MethodPost, path: "/v1/policy/test", id: "testPolicy", tag: "policy",
			doc:   "What would happen to a call: as holdfast policy check --json. Nothing is run, and nothing asked.",
			scope: auth.Read, body: policyTest{}, answer: json.RawMessage(nil),
			problems: []outcome.Outcome{outcome.NotOffered}, serve: a.testPolicy,
		},
	}
}

func needed(p param) param {
	p.needed = true
	return p
}

// Policy is the policy of a session's run.
type Policy struct {
	Version int            `json:"version"`
	Mode    policy.Mode    `json:"mode"`
	Live    bool           `json:"live" jsonschema:"the run runs: these are its guards; otherwise what is on record, without settings"`
	Chains  []policy.Chain `json:"chains"`
	Grants  []policy.Grant `json:"grants"`
}

// policyOf is the policy as it is in force, or on record.
func (a *api) policyOf(ctx context.Context, m session.Meta) (*Policy, error) {
	chains, grants, err := a.o.Runs.Chains(runOf(m))
	if notLive(err) || err == nil && len(chains) == 0 {
		return a.recordedPolicy(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	p := &Policy{Live: true, Mode: chains[0].Mode, Chains: chains, Grants: unique(grants)}
	for _, c := range chains {
		p.Version = max(p.Version, c.Version)
	}
	return p, nil
}

func (a *api) recordedPolicy(ctx context.Context, m session.Meta) (*Policy, error) {
	m, err := policylog.Of(ctx, a.o.Sessions, m)
	if err != nil {
		return nil, err
	}
	g, err := policylog.Guards(ctx, a.o.Sessions, m)
	if err != nil {
		return nil, err
	}
	return &Policy{
		Version: g.Version(), Mode: g.Mode(), Chains: []policy.Chain{g.Guard("").Chain()}, Grants: unique(g.Grants()),
	}, nil
}

// unique lists grants once: each agent of a run has them.
func unique(list []policy.Grant) []policy.Grant {
	out := []policy.Grant{}
	for _, g := range list {
		if !slices.ContainsFunc(out, func(o policy.Grant) bool { return o.ID == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// runOf is the run that a session belongs to.
func runOf(m session.Meta) string { return cmp.Or(m.Owner, m.ID) }

func notLive(err error) bool {
	e, ok := errors.AsType[*runs.Error](err)
	return ok && e.Code == wire.CodeRunNotFound
}

func (a *api) getPolicy(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	return a.tellPolicy(c, m)
}

func (a *api) tellPolicy(c *call, m session.Meta) error {
	p, err := a.policyOf(c.ctx(), m)
	if err != nil {
		return err
	}
	c.header("ETag", etag(int64(p.Version)))
	return c.json(p)
}

type policyPatch struct {
	Patch *pathPatch `json:"patch,omitempty"`
	Mode  string     `json:"mode,omitempty"`
}

type pathPatch struct {
	Tool    string        `json:"tool,omitempty" jsonschema:"all tools otherwise"`
	Mode    string        `json:"mode" jsonschema:"read or write"`
	Allow   []string      `json:"allow,omitempty" jsonschema:"globs, absolute or relative to the session's folder"`
	Deny    []string      `json:"deny,omitempty"`
	Default policy.Effect `json:"default,omitempty" jsonschema:"allow, deny or ask; as it was otherwise"`
}

// change is the change of policy that a patch wants.
func (p *policyPatch) change() (policy.Change, error) {
	if (p.Patch == nil) == (p.Mode == "") {
		return policy.Change{}, refuse(outcome.Usage, "one of patch and mode is needed", "")
	}
	if p.Mode != "" {
		mode, err := parseMode(p.Mode)
		return policy.Change{Mode: mode}, err
	}
	return policy.Change{Patch: &policy.Patch{
		Tool: p.Patch.Tool, Mode: p.Patch.Mode, Allow: p.Patch.Allow, Deny: p.Patch.Deny, Default: p.Patch.Default,
	}}, nil
}

func (a *api) patchPolicy(c *call) error {
	var q policyPatch
	if err := c.into(&q); err != nil {
		return err
	}
	change, err := q.change()
	if err != nil {
		return err
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if c.r.Header.Get("If-Match") == "" {
		return refuse(outcome.NeedsIfMatch, "If-Match is needed: the version that the change is meant for", "GET the policy and send its ETag")
	}
	version, only, err := c.matches()
	if err != nil {
		return err
	}
	if only {
		v := int(version)
		change.IfVersion = &v
	}
	if err := a.change(c, m, change); err != nil {
		return err
	}
	if m, err = a.o.Sessions.Get(c.ctx(), m.ID); err != nil {
		return err
	}
	return a.tellPolicy(c, m)
}

// change changes the policy of a run that runs, or of a session that nobody runs here.
func (a *api) change(c *call, m session.Meta, change policy.Change) error {
	by := c.actor()
	change.By = by.Name
	if _, err := a.o.Runs.Change(c.ctx(), runOf(m), change, by); !notLive(err) {
		return err
	}
	if change.Mode == policy.ModeBypass {
		return refuse(outcome.Conflict, "the session does not run here, and bypassPermissions is not taken over by a run that goes on",
			"ask for the mode when it goes on")
	}
	m, err := policylog.Of(c.ctx(), a.o.Sessions, m)
	if err != nil {
		return err
	}
	_, err = policylog.Change(c.ctx(), a.o.Sessions, m.ID, func(*policy.Guards) (policy.Change, error) { return change, nil })
	return err
}

func (a *api) listGrants(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	p, err := a.policyOf(c.ctx(), m)
	if err != nil {
		return err
	}
	return c.json(listOf[policy.Grant]{Items: p.Grants})
}

func (a *api) revokeGrant(c *call) error {
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if err := a.change(c, m, policy.Change{Revoke: c.path("grant")}); err != nil {
		return err
	}
	return c.none()
}

func (a *api) folderPolicy(c *call) error {
	if a.o.Power.Policy == nil {
		return notOffered()
	}
	cwd := c.query["cwd"]
	if !filepath.IsAbs(cwd) {
		return refuse(outcome.Usage, "cwd must be absolute", "")
	}
	return c.made(a.o.Power.Policy(c.ctx(), filepath.Clean(cwd)))
}

type policyTest struct {
	Cwd     string          `json:"cwd" jsonschema:"an absolute folder"`
	Session string          `json:"session,omitempty" jsonschema:"with what was granted in this session"`
	Mode    string          `json:"mode,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}

func (a *api) testPolicy(c *call) error {
	if a.o.Power.Test == nil {
		return notOffered()
	}
	var q policyTest
	if err := c.into(&q); err != nil {
		return err
	}
	if q.Tool == "" || len(q.Input) == 0 || !filepath.IsAbs(q.Cwd) {
		return refuse(outcome.Usage, "an absolute cwd, a tool and its input are needed", "")
	}
	return c.made(a.o.Power.Test(c.ctx(), c.body))
}

func notOffered() error {
	return refuse(outcome.NotOffered, "this daemon does not offer it", "GET /v1/info lists its capabilities")
}

func parseMode(s string) (policy.Mode, error) {
	mode, err := policy.ParseMode(s)
	if err != nil {
		return "", &refusal{out: outcome.Usage, detail: err.Error(), err: err}
	}
	return mode, nil
}
