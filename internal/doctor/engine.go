package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// engine checks the container engine, which only workspaces need.
func (x *examination) engine(ctx context.Context) []Check {
	home, err := x.env.Home()
	if err != nil {
		return []Check{failed("engine", err)}
	}
	w, err := workspace.New(home, &workspace.Options{Clock: x.env.Clock})
	if err != nil {
		return []Check{failed("engine", err)}
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := w.List(ctx)
	if err != nil {
		return []Check{failed("workspaces", err)}
	}
	e, err := w.Engine(ctx)
	switch {
	case err != nil && len(list) == 0:
		return []Check{{"engine", "ok", "none: " + err.Error() + "; only workspaces need a container engine", ""}}
	case err != nil:
		return []Check{{"engine", "warn", fmt.Sprintf("%v; %s cannot run", err, term.Count(len(list), "workspace")), outcome.Hint(err)}}
	}
	out := []Check{{"engine", "ok", fmt.Sprintf("%s, API %s, %d processors, %s, cgroup v%s", e.Name, e.API, e.CPUs, term.Size(int64(e.Memory)), e.Cgroup), ""}}
	img, err := w.Image(ctx, "")
	switch {
	case errors.Is(err, workspace.ErrNoImage):
		return append(out, Check{"image", "ok", "missing image " + workspace.DefaultImage, "build it with holdfast workspace image build"})
	case err != nil:
		return append(out, failed("image", err))
	}
	return append(out, Check{"image", "ok", fmt.Sprintf("%s, %s, of holdfast %s", workspace.DefaultImage, img.Variant, img.Version), ""})
}
