package workspace

import (
	"context"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/workspace/image"
)

// BuildImage builds an image for containers, see [image.Build]. Progress may be nil. Errors are those of
// image.Build and [ErrNoEngine].
func (w *Workspaces) BuildImage(ctx context.Context, s image.Spec, progress func(image.Progress)) (id string, err error) {
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return "", err
	}
	if s.Folder == "" {
		s.Folder = filepath.Join(w.home, "images")
	}
	id, err = image.Build(ctx, e, s, progress)
	return id, engineError(err)
}

// Images lists the images that BuildImage created, by name. Error: [ErrNoEngine].
func (w *Workspaces) Images(ctx context.Context) ([]image.Image, error) {
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	list, err := image.List(ctx, e)
	return list, engineError(err)
}

// Image returns one of them: by name, by id, or [DefaultImage] for "". Errors: [ErrNoEngine], [ErrNoImage].
func (w *Workspaces) Image(ctx context.Context, ref string) (*image.Image, error) {
	e, _, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	img, err := image.Find(ctx, e, ref)
	return img, engineError(err)
}
