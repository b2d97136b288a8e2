package daemon

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
)

// checkRunPermission asks whether a caller may make a run of a spec. Whoever may not answer questions may
// not answer them in advance either: they choose a mode that asks at least as much as the default
// one, and nothing that allows more, starts programs outside the sandbox, or sends the daemon's
// keys to another address.
func checkRunPermission(c auth.Caller, s *runspec.Spec) error {
	if c.HasScope(api.ScopeApprove) {
		return nil
	}
	const hint = "use a token with the scope approve, or leave it out"
	p := &s.Permissions
	switch m := policy.Mode(p.Mode); {
	case p.Mode != "" && m.Stricter(policy.ModeDefault) != m:
		return refuse(outcome.Forbidden, "the mode "+p.Mode+" needs the scope approve: it asks less than the default one", hint)
	case len(p.Settings) > 0:
		return refuse(outcome.Forbidden, "settings for a run need the scope approve: they say what is not asked", hint)
	}
	for _, f := range []struct {
		given bool
		field string
	}{
		{len(p.Allow) > 0, "permissions.allow"},
		{len(s.AddDirs) > 0, "add_dirs"},
		{s.Sandbox.Disabled, "sandbox.off"},
		{s.Hooks.Disabled, "hooks.off"},
		{len(s.MCP.Configs) > 0, "mcp.configs"},
		{len(s.Agents) > 0, "agents"},
		{s.ModelOptions.BaseURL != "", "model_options.base_url"},
		{s.Session.WithGrants, "session.with_grants"},
		{s.Session.Takeover, "session.takeover"},
		{len(s.Environment.References) > 0, "environment.from"},
	} {
		if f.given {
			return refuse(outcome.Forbidden, f.field+" needs the scope approve", hint)
		}
	}
	return nil
}
