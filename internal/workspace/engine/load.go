package engine

import (
	"context"
	"errors"
	"io"

	"github.com/moby/moby/client"
)

// Load brings images in from a tar of their layers and settings, as `docker save`
// writes it. Progress, which may be nil, is told what the engine says. The context is
// its only limit of time.
func (e *Engine) Load(ctx context.Context, tar io.Reader, progress func(line string)) error {
	r, err := e.api.ImageLoad(ctx, tar, client.ImageLoadWithQuiet(true))
	if err != nil {
		return e.failImage(ctx, "load image", "", err)
	}
	_, err = messages(r, progress)
	return e.failImage(ctx, "load image", "", errors.Join(err, r.Close()))
}

// Tag gives an image a further name, which another may have had.
func (e *Engine) Tag(ctx context.Context, ref, name string) error {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	_, err := e.api.ImageTag(limited, client.ImageTagOptions{Source: ref, Target: name})
	return e.failImage(ctx, "name image", name, err)
}

// PruneImages removes the images that have all the labels and no name, that no other is
// made of and no container uses.
func (e *Engine) PruneImages(ctx context.Context, labels map[string]string) error {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	filters := client.Filters{}.Add("dangling", "true")
	for k, v := range labels {
		filters.Add("label", k+"="+v)
	}
	_, err := e.api.ImagePrune(limited, client.ImagePruneOptions{Filters: filters})
	return e.failImage(ctx, "remove unused images", "", err)
}

// Platform is what the engine's containers run on: "linux/amd64".
func (e *Engine) Platform(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	v, err := e.api.ServerVersion(limited, client.ServerVersionOptions{})
	if err != nil {
		return "", e.fail(ctx, "ask the engine for its platform", "", err)
	}
	return v.Os + "/" + v.Arch, nil
}
