package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
	"github.com/holdfast-dev/holdfast/workspace"
)

// buildTime bounds the building of an image: a Debian and agents are a lot to get.
const buildTime = time.Hour

func (a *api) imageRoutes() []route {
	problems := []outcome.Outcome{outcome.NotOffered, outcome.NoEngine}
	return []route{
		{
			method: http.MethodGet, path: "/v1/images", id: "listImages", tag: "workspaces",
			doc: "The images of workspaces that were built, by name.", scope: auth.Read, answer: listOf[Image]{},
			problems: problems, serve: a.listImages,
		},
		{
			method: http.MethodPost, path: "/v1/images", id: "buildImage", tag: "workspaces",
			doc: "Builds an image of this program, one at a time. With Accept: text/event-stream it tells how far it is: events " +
				"progress, and at the end image or failed, with a problem. Who goes away ends it.",
			scope: auth.Admin, body: imageRequest{}, answer: Image{}, status: http.StatusCreated, types: []string{eventStream}, stream: true,
			problems: append(problems, outcome.Busy), serve: a.buildImage,
		},
	}
}

// Image is an image that containers are made of.
type Image struct {
	ID       string    `json:"id"`
	Tags     []string  `json:"tags"`
	Variant  string    `json:"variant"`
	Version  string    `json:"version" jsonschema:"of holdfast that built it"`
	Binary   string    `json:"binary" jsonschema:"SHA-256 of the program in it"`
	Protocol int       `json:"protocol" jsonschema:"of its supervisor"`
	With     []string  `json:"with,omitempty" jsonschema:"agents, with their versions"`
	Base     string    `json:"base,omitempty" jsonschema:"id of the base"`
	Size     int64     `json:"size" jsonschema:"in bytes"`
	Created  time.Time `json:"created,omitzero"`
}

func shownImage(i *image.Image) Image {
	out := Image(*i)
	if out.Tags == nil {
		out.Tags = []string{}
	}
	return out
}

type imageRequest struct {
	Variant string   `json:"variant,omitempty" jsonschema:"scratch, which is the default, or debian"`
	With    []string `json:"with,omitempty" jsonschema:"for debian: claude, codex, each with @VERSION or in the version that was tested"`
	Base    string   `json:"base,omitempty" jsonschema:"for debian: an image that the engine has"`
	Tag     string   `json:"tag,omitempty" jsonschema:"default holdfast/workspace: and the variant"`
	Fresh   bool     `json:"fresh,omitempty" jsonschema:"builds anew what is there"`
}

func (a *api) listImages(c *call) error {
	return listAll(a, c, (*workspace.Workspaces).Images, shownImage)
}

func (a *api) buildImage(c *call) error {
	var q imageRequest
	w, err := a.spacesAsked(c, &q)
	if err != nil {
		return err
	}
	if _, err := w.Engine(c.ctx()); err != nil {
		return err
	}
	if !a.building.TryLock() {
		return refuse(outcome.Busy, "an image is being built", "wait until that one is done")
	}
	defer a.building.Unlock()
	spec := image.Spec{Variant: q.Variant, With: q.With, Base: q.Base, Tag: q.Tag, Fresh: q.Fresh}
	if c.accepts(eventStream) {
		return a.startStream(c, func(ctx context.Context, s *sse) error { return streamBuild(ctx, s, w, spec) })
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(buildTime))
	img, err := built(c.ctx(), w, spec, nil)
	if err != nil {
		return err
	}
	return c.json(shownImage(img))
}

func built(ctx context.Context, w *workspace.Workspaces, s image.Spec, progress func(image.Progress)) (*image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	id, err := w.BuildImage(ctx, s, progress)
	if err != nil {
		return nil, err
	}
	return w.Image(ctx, id)
}

// streamBuild tells how a build goes on. A client that takes nothing any more ends it.
func streamBuild(ctx context.Context, s *sse, w *workspace.Workspaces, spec image.Spec) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tell := func(event string, v any) error {
		data, err := marshal(v)
		if err == nil {
			err = s.write(message(event, "", data), true)
		}
		if err != nil {
			stop(err)
		}
		return err
	}
	img, err := built(ctx, w, spec, func(p image.Progress) { _ = tell("progress", p) })
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		p := problemOf(err)
		p.Type = "urn:holdfast:problem:" + p.Code
		return tell("failed", p)
	}
	return tell("image", shownImage(img))
}
