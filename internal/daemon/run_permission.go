package daemon

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
)

// checkRunPermission reports whether a caller may create a run with a spec. A caller who may not
// answer approvals may not answer them in advance, either: without the scope approve, the mode must
// be at least as strict as the default one, and the spec may not add permissions, start programs
// outside the sandbox, or send the daemon's keys to a different address.
func checkRunPermission(c auth.Caller, s *runspec.Spec) error {
	if c.HasScope(api.ScopeApprove) {
		return nil
	}
	const hint = "use a token with the scope approve, or omit the field"
	p := &s.Permissions
	switch m := policy.Mode(p.Mode); {
	case p.Mode != "" && m.Stricter(policy.ModeDefault) != m:
		return refuse(outcome.Forbidden, "the mode "+p.Mode+" needs the scope approve, because it allows more than the default mode", hint)
	case len(p.Settings) > 0:
		return refuse(outcome.Forbidden, "setting a run's settings needs the scope approve, because they can allow calls", hint)
	}
	for _, f := range []struct {
		given bool
		field string
	}{
		{len(p.Allow) > 0, "permissions.allow"},
		{len(s.AddDirs) > 0, "add_dirs"},
		{len(s.PluginDirs) > 0, "plugin_dirs"},
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
