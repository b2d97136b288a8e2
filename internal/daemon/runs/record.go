package runs

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/runlog"
)

// patience bounds an append that must happen though its cause has ended. It is longer than
// a store that is away is waited for.
const patience = time.Hour

// append is [runlog.Append], whatever becomes of ctx.
func (r *Runs) append(ctx context.Context, id string, e wire.RunEvent, from ...api.RunStatus) (int64, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	return runlog.Append(ctx, r.o.Sessions, id, e, from...)
}

// append is [Runs.append] of the run, secrets masked.
func (x *run) append(ctx context.Context, e wire.RunEvent, from ...api.RunStatus) (int64, error) {
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
