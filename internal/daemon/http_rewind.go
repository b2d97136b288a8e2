package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/rewind"
)

// rewindSession rewinds a session like `sessions rewind`. It returns a plan. If the request has the
// digest of the plan, it applies the plan.
func (a *service) rewindSession(c *call) error {
	r := rewind.Request{Actor: c.caller.Name}
	if err := c.into(&r.Rewind); err != nil {
		return err
	}
	m, err := a.meta(c)
	if err != nil {
		return err
	}
	if r.Digest != "" {
		if err := a.checkIdle(m); err != nil {
			return err
		}
	}
	if err := r.Check(m.ID); err != nil {
		return err
	}
	plan, closeFolders, err := r.Plan(c.ctx(), a.o.Env, a.o.Sessions, m)
	if err != nil {
		return err
	}
	defer closeFolders()
	if err := r.CheckExcept(plan, m); err != nil {
		return err
	}
	doc := plan.Document()
	if r.Digest != "" {
		doc.Done, err = applyRewind(c.ctx(), plan, r.Digest)
	}
	return c.document(doc, err)
}

// applyRewind applies the plan that the client has seen. If it cannot, it returns the reason.
func applyRewind(ctx context.Context, plan *rewind.Plan, shown string) (done *rewind.Result, err error) {
	err = rewind.ErrChanged
	if shown == plan.Digest() {
		done, err = plan.Apply(ctx)
	}
	switch {
	case errors.Is(err, rewind.ErrChanged):
		err = &outcome.Failure{
			Message: fmt.Sprintf("session %s: %v", plan.Session, rewind.ErrChanged), Advice: "omit the digest to get the new plan",
			Result: outcome.Conflict, Cause: err,
		}
	case errors.Is(err, rewind.ErrBlocked):
		err = &outcome.Failure{
			Message: err.Error(), Advice: "list files to leave unchanged in except, or set force to restore files in conflict too", Result: outcome.Conflict, Cause: err,
		}
	}
	return done, err
}
