package daemon

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
)

// settingsTarget returns the folder whose settings apply to the run of a session.
func (o *Options) settingsTarget(ctx context.Context, session string) (saverule.Target, error) {
	return saverule.TargetOf(ctx, o.Sessions, session, func(ctx context.Context, slug string) (string, error) {
		if o.Workspaces == nil {
			return "", refuse(outcome.NotOffered, "this daemon does not serve workspaces", "")
		}
		s, err := o.Workspaces.Get(ctx, slug)
		if err != nil {
			return "", err
		}
		return o.Workspaces.ProjectFolder(s), nil
	})
}

// planSave checks whether a caller may save the rule of an answer. It returns the plan of the save,
// or nil if the answer saves no rule. A saved rule outlasts the caller's credential, so it needs
// the scope admin. Processes of a run never have that scope: see [auth.Caller].
func (o *Options) planSave(ctx context.Context, caller auth.Caller, q *approval.Request, a *approval.Answer) (*saverule.Plan, error) {
	if a.SaveTo == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	if caller.Agent || !caller.HasScope(api.ScopeAdmin) {
		return nil, refuse(outcome.Forbidden, "saving a rule in the settings needs the scope admin", "omit always to answer for the session")
	}
	target, err := o.settingsTarget(ctx, q.Session)
	if err != nil {
		return nil, err
	}
	return saverule.NewPlan(o.Env, target, q, a)
}

// saveRule saves the rule of an answer that was recorded.
func saveRule(plan *saverule.Plan) (*savedrule.Result, error) {
	if plan == nil {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	k, err := plan.Write()
	if err != nil {
		return nil, fmt.Errorf("the answer applies to the session, but its rule was not saved in the settings: %w", err)
	}
	return k, nil
}

// savePreview returns the rules that an answer to an approval could save. If they are unknown, it
// returns nil.
func (a *service) savePreview(ctx context.Context, q *approval.Request) *savedrule.Preview {
	if q.OnceOnly() {
		return nil
	}
	target, err := a.o.settingsTarget(ctx, q.Session)
	if err != nil {
		return &savedrule.Preview{Refused: err.Error()}
	}
	return saverule.Preview(a.o.Env, target, q)
}

// planSaveByID is [Options.planSave] for a WebSocket client, which names an approval.
func (c *socket) planSaveByID(ctx context.Context, a *approval.Answer) (*saverule.Plan, error) {
	if a.SaveTo == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	q, _, err := approval.Find(ctx, c.s.o.Sessions, a.RequestID)
	if err == nil && q.ID != a.RequestID { // the API accepts only complete ids
		err = approval.ErrNoRequest
	}
	if err != nil {
		return nil, err
	}
	return c.s.o.planSave(ctx, c.caller, &q, a)
}
