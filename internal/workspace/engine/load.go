package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
)

// Load imports images from a tar of their layers and settings, in the format of `docker save`. Progress, which may
// be nil, receives the engine's messages. Only the context limits its time.
func (e *Engine) Load(ctx context.Context, tar io.Reader, progress func(line string)) error {
	r, err := e.api.upload(ctx, "/images/load", url.Values{"quiet": {"1"}}, tar)
	if err != nil {
		return e.failImage(ctx, "load image", "", err)
	}
	_, err = messages(r, progress)
	return e.failImage(ctx, "load image", "", errors.Join(err, r.Close()))
}

// Tag adds a name to an image; an image that had the name before loses it.
func (e *Engine) Tag(ctx context.Context, ref, name string) error {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	return e.failImage(ctx, "name image", name, e.tag(limited, ref, name))
}

func (e *Engine) tag(ctx context.Context, ref, name string) error {
	if err := checkSource(ref); err != nil {
		return err
	}
	to, err := parseReference(name)
	switch {
	case err != nil:
		return err
	case to.digest != "":
		return fmt.Errorf("%q has a digest, which cannot be set", name)
	case to.tag == "":
		to.tag = "latest"
	}
	return e.api.post(ctx, "/images/"+ref+"/tag", url.Values{"repo": {to.name}, "tag": {to.tag}}, nil, nil)
}

// PruneImages removes each image that has all the labels, has no name, is not the base of another
// image, and is not used by a container.
func (e *Engine) PruneImages(ctx context.Context, labels map[string]string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	query := filters{}.add("dangling", "true").labels(labels).query()
	return e.failImage(ctx, "remove unused images", "", e.api.post(limited, "/images/prune", query, nil, nil))
}

// Platform returns the platform of the engine's containers: "linux/amd64".
func (e *Engine) Platform(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	var v serverVersion
	if err := e.api.get(limited, "/version", nil, &v); err != nil {
		return "", e.fail(ctx, "query the engine's platform", "", err)
	}
	return v.Os + "/" + v.Arch, nil
}
