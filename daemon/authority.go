package daemon

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// mayMake asks whether a caller may make a run with a mode and with settings of its
// own. Either can answer questions before they are asked, so whoever may answer none
// chooses a mode that asks at least as much as the default one, and no settings.
func mayMake(c auth.Caller, mode, settings string) error {
	const hint = "use a token with the scope approve, or leave it out"
	switch m := policy.Mode(mode); {
	case c.May(api.ScopeApprove):
		return nil
	case mode != "" && policy.Stricter(m, policy.ModeDefault) != m:
		return refuse(outcome.Forbidden, "the mode "+mode+" needs the scope approve: it asks less than the default one", hint)
	case settings != "":
		return refuse(outcome.Forbidden, "settings for a run need the scope approve: they say what is not asked", hint)
	}
	return nil
}
