package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/checkpoint"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/rewind"
)

// rewind takes a session back as `sessions rewind` does: it says what would be done, and
// does it when it is told the digest of just that.
func (w *power) rewind(ctx context.Context, id, by string, r api.Rewind) (json.RawMessage, error) {
	q := rewind.Request{Rewind: r, By: by}
	if err := q.Check(id); err != nil {
		return nil, err
	}
	m, err := w.sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	plan, closeFolders, err := rewind.Plan(ctx, w.p.Environment(), w.sessions, m, &q)
	if err != nil {
		return nil, err
	}
	defer closeFolders()
	if err := q.CheckExcept(plan, m); err != nil {
		return nil, err
	}
	doc := plan.Document()
	if r.Digest != "" {
		if doc.Done, err = carryOut(ctx, plan, r.Digest); err != nil {
			return nil, err
		}
	}
	return json.Marshal(doc)
}

// carryOut does what was shown, or says why it is not done.
func carryOut(ctx context.Context, plan *checkpoint.Plan, shown string) (done *checkpoint.Result, err error) {
	err = checkpoint.ErrChanged
	if shown == plan.Digest() {
		done, err = plan.Apply(ctx)
	}
	switch {
	case errors.Is(err, checkpoint.ErrChanged):
		err = &outcome.Failure{Message: fmt.Sprintf("session %s: %v", plan.Session, checkpoint.ErrChanged), Advice: "look at what would be done now: leave the digest out", Result: outcome.Conflict, Cause: err}
	case errors.Is(err, checkpoint.ErrBlocked):
		err = &outcome.Failure{Message: err.Error(), Advice: "except leaves a file as it is, force puts back those in conflict", Result: outcome.Conflict, Cause: err}
	}
	return done, err
}
