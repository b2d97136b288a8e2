package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
)

// buildTimeout is the time limit for the build of an image. Downloading Debian and vendor agents takes
// time.
const buildTimeout = time.Hour

func apiImage(i *image.Image) routes.Image {
	out := routes.Image(*i)
	if out.Tags == nil {
		out.Tags = []string{}
	}
	return out
}

func (a *service) listImages(c *call) error {
	return listAll(a, c, (*workspace.Workspaces).Images, apiImage)
}

func (a *service) buildImage(c *call) error {
	var q routes.NewImage
	w, err := a.decodeForWorkspaces(c, &q)
	if err != nil {
		return err
	}
	if _, err := w.Engine(c.ctx()); err != nil {
		return err
	}
	if !a.building.TryLock() {
		return refuse(outcome.Busy, "another image build is running", "wait until it has finished")
	}
	defer a.building.Unlock()
	spec := image.Spec{Variant: q.Variant, Agents: q.Agents, Base: q.Base, Tag: q.Tag, NoCache: q.NoCache}
	if c.accepts(routes.EventStream) {
		return a.startStream(c, func(ctx context.Context, s *sse) error { return streamBuild(ctx, s, w, spec) })
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(buildTimeout))
	img, err := built(c.ctx(), w, spec, nil)
	if err != nil {
		return err
	}
	return c.json(apiImage(img))
}

func built(ctx context.Context, w *workspace.Workspaces, s image.Spec, progress func(image.Progress)) (*image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	id, err := w.BuildImage(ctx, s, progress)
	if err != nil {
		return nil, err
	}
	return w.Image(ctx, id)
}

// streamBuild streams the progress of a build. The build ends if its client stops reading.
func streamBuild(ctx context.Context, s *sse, w *workspace.Workspaces, spec image.Spec) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	send := func(event string, v any) error {
		data, err := jsonscan.Marshal(v)
		if err == nil {
			err = s.write(encodeEvent(event, "", data), true)
		}
		if err != nil {
			stop(err)
		}
		return err
	}
	img, err := built(ctx, w, spec, func(p image.Progress) { _ = send("progress", p) })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		p := problemOf(err)
		return send("failed", p)
	}
	return send("image", apiImage(img))
}
