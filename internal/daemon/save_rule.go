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

// placeOf is where the settings of a session's run are.
func (o *Options) placeOf(ctx context.Context, session string) (saverule.Target, error) {
	return saverule.TargetOf(ctx, o.Sessions, session, func(ctx context.Context, slug string) (string, error) {
		if o.Workspaces == nil {
			return "", refuse(outcome.NotOffered, "this daemon serves no workspaces", "")
		}
		s, err := o.Workspaces.Get(ctx, slug)
		if err != nil {
			return "", err
		}
		return o.Workspaces.ProjectFolder(s), nil
	})
}

// keeping looks whether a caller may have an answer kept for good, and what it would write; nil for an
// answer that is not. A rule outlasts the credential of whoever had it written, so it takes all that a
// credential can give. A process of a run never has it: see [auth.Caller].
func (o *Options) keeping(ctx context.Context, caller auth.Caller, q *approval.Request, a *approval.Answer) (*saverule.Plan, error) {
	if a.SaveTo == "" {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	if caller.Agent || !caller.HasScope(api.ScopeAdmin) {
		return nil, refuse(outcome.Forbidden, "the scope admin is needed to write into the settings", "answer for the session: leave always out")
	}
	place, err := o.placeOf(ctx, q.Session)
	if err != nil {
		return nil, err
	}
	return saverule.NewPlan(o.Env, place, q, a)
}

// write writes what an answer that is on record says for good.
func write(plan *saverule.Plan) (*savedrule.Result, error) {
	if plan == nil {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	k, err := plan.Write()
	if err != nil {
		return nil, fmt.Errorf("the answer holds for the session, but was not written into the settings: %w", err)
	}
	return k, nil
}

// savePreview is what answers to a question could write; nil where that is not known.
func (a *service) savePreview(ctx context.Context, q *approval.Request) *savedrule.Preview {
	if q.OnceOnly() {
		return nil
	}
	place, err := a.o.placeOf(ctx, q.Session)
	if err != nil {
		return &savedrule.Preview{Refused: err.Error()}
	}
	return saverule.Preview(a.o.Env, place, q)
}

// keepingOf is [Options.keeping] for a client of the WebSocket, which names a question.
func (c *socket) keepingOf(ctx context.Context, a *approval.Answer) (*saverule.Plan, error) {
	if a.SaveTo == "" {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	q, _, err := approval.Find(ctx, c.s.o.Sessions, a.RequestID)
	if err == nil && q.ID != a.RequestID { // only a person types beginnings
		err = approval.ErrNoRequest
	}
	if err != nil {
		return nil, err
	}
	return c.s.o.keeping(ctx, c.caller, &q, a)
}
