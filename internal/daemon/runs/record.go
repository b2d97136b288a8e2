package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
)

// errOvertaken says that a run is not where a change of it expected it to be.
var errOvertaken = errors.New("the run has changed meanwhile")

// patience bounds an append that must happen though its cause has ended. It is longer than
// a store that is away is waited for.
const patience = time.Hour

// append puts an event on a run's record, if the run's status is one of from (none:
// whatever it is). That is the compare-and-set behind every status: the look and the
// append are one step of the log.
func (r *Runs) append(ctx context.Context, id string, e wire.RunEvent, from ...api.Status) (int64, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	d, err := session.NewDraft(session.KindRunEvent, e)
	if err != nil {
		return 0, err
	}
	for {
		m, err := r.o.Sessions.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if len(from) > 0 && !slices.Contains(from, api.Status(m.Run)) {
			return 0, fmt.Errorf("run %s is %s: %w", id, m.Run, errOvertaken)
		}
		recs, err := r.o.Sessions.AppendShared(ctx, id, m.Head, d)
		switch {
		case errors.Is(err, session.ErrConflict) && ctx.Err() == nil:
			continue
		case err != nil:
			return 0, err
		}
		return recs[0].Seq, nil
	}
}

// append is [Runs.append] of the run, secrets masked.
func (x *run) append(ctx context.Context, e wire.RunEvent, from ...api.Status) (int64, error) {
	for _, text := range []*string{&e.Input, &e.Text, &e.Message} {
		*text, _ = x.mask.Text(*text)
	}
	for _, form := range []*wire.Raw{&e.Opened, &e.Result} {
		*form, _ = x.mask.JSON(*form)
	}
	e.Notices = slices.Clone(e.Notices)
	for i := range e.Notices {
		e.Notices[i], _ = x.mask.Text(e.Notices[i])
	}
	return x.r.append(ctx, x.id, e, from...)
}
