package runs

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/runlog"
)

// appendTimeout is the time limit of an append that must be made even if its context has ended. It is
// longer than the time that the daemon waits for an unavailable store.
const appendTimeout = time.Hour

// append calls [runlog.Append] with a context that does not end with ctx.
func (r *Runs) append(ctx context.Context, id string, e wire.RunEvent, from ...api.RunStatus) (int64, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), appendTimeout)
	defer stop()
	return runlog.Append(ctx, r.o.Sessions, id, e, from...)
}

// append calls [Runs.append] for this run after it has masked the secrets.
func (x *run) append(ctx context.Context, e wire.RunEvent, from ...api.RunStatus) (int64, error) {
	for _, text := range []*string{&e.Input, &e.Text, &e.Message} {
		*text, _ = x.mask.Text(*text)
	}
	e.Images = slices.Clone(e.Images)
	for i := range e.Images {
		e.Images[i].Name, _ = x.mask.Text(e.Images[i].Name)
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
