package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"
)

// Image is what the engine says about one.
type Image struct {
	ID       string // "sha256:…"
	Tags     []string
	Labels   map[string]string
	Platform string   // "linux/amd64"
	User     string   // that its maker named
	Volumes  []string // folders that would become volumes of their own, by name
	Size     int64    // bytes
	Created  time.Time
}

// Image looks at the image of a name or id. One that is not there is [ErrNoImage].
func (e *Engine) Image(ctx context.Context, ref string) (Image, error) {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	r, err := e.api.ImageInspect(limited, ref)
	if err != nil {
		return Image{}, e.failImage(ctx, "inspect image", ref, err)
	}
	img := Image{ID: r.ID, Tags: r.RepoTags, Platform: r.Os + "/" + r.Architecture, Size: r.Size}
	img.Created, _ = time.Parse(time.RFC3339Nano, r.Created) // the zero time where the image has none
	if r.Config != nil {
		img.Labels, img.User = r.Config.Labels, r.Config.User
		img.Volumes = slices.Sorted(maps.Keys(r.Config.Volumes))
	}
	return img, nil
}

// Images lists the images that have all the labels.
func (e *Engine) Images(ctx context.Context, labels map[string]string) ([]Image, error) {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	filters := client.Filters{}
	for k, v := range labels {
		filters.Add("label", k+"="+v)
	}
	r, err := e.api.ImageList(limited, client.ImageListOptions{Filters: filters})
	if err != nil {
		return nil, e.failImage(ctx, "list images", "", err)
	}
	var list []Image
	for _, s := range r.Items {
		if has(s.Labels, labels) {
			list = append(list, Image{ID: s.ID, Tags: s.RepoTags, Labels: s.Labels, Size: s.Size, Created: time.Unix(s.Created, 0)})
		}
	}
	return list, nil
}

// RemoveImage takes an image away, or one name of it when it has more.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	_, err := e.api.ImageRemove(limited, ref, client.ImageRemoveOptions{PruneChildren: true})
	return e.failImage(ctx, "remove image", ref, err)
}

// Import makes an image of one layer from a tar of its files. The changes are lines of
// a Dockerfile: ENTRYPOINT, ENV, LABEL, USER, WORKDIR. The context is its only limit of
// time.
func (e *Engine) Import(ctx context.Context, tar io.Reader, ref string, changes []string) (id string, err error) {
	r, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: tar, SourceName: "-"}, ref, client.ImageImportOptions{Changes: changes})
	if err != nil {
		return "", e.failImage(ctx, "import image", ref, err)
	}
	last, err := messages(r, nil)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", e.failImage(ctx, "import image", ref, err)
	}
	if strings.HasPrefix(last.status, "sha256:") {
		return last.status, nil
	}
	img, err := e.Image(ctx, ref)
	return img.ID, err
}

// BuildOptions say how an image is built.
type BuildOptions struct {
	Ref        string
	Dockerfile string // its path in the tar; "" is Dockerfile
	Labels     map[string]string
	Args       map[string]string
	Fresh      bool // nothing from earlier builds is used
	// Network is that of the build's commands: "none", "default" or "host"; "" is "none".
	Network string
	// Progress is told what the engine does, line by line; it may be nil.
	Progress func(line string)
}

// Build makes an image from a tar with a Dockerfile and what that copies. The context is
// its only limit of time. An image that FROM names and that is not there is
// [ErrNoImage]. The engine notices late that nobody waits any more, so the image gets its
// name here, when it is whole: a canceled build never changes what the name means.
func (e *Engine) Build(ctx context.Context, tar io.Reader, o BuildOptions) (id string, err error) {
	if o.Network == "" {
		o.Network = "none"
	}
	args := map[string]*string{}
	for k, v := range o.Args {
		args[k] = &v
	}
	r, err := e.api.ImageBuild(ctx, tar, client.ImageBuildOptions{
		Dockerfile: o.Dockerfile, Labels: o.Labels, BuildArgs: args, NoCache: o.Fresh,
		NetworkMode: o.Network, Remove: true, ForceRemove: true,
	})
	if err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	last, err := messages(r.Body, o.Progress)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	if last.id == "" {
		return "", &Error{Op: "build image", Name: o.Ref, Err: ErrRefused, Detail: "the engine does not say which image it has built"}
	}
	return last.id, e.Tag(ctx, last.id, o.Ref)
}

// failImage is fail where what was not found is an image, or something that an image
// should be made of.
func (e *Engine) failImage(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	var said *saidError
	if errors.As(err, &said) && ctx.Err() == nil {
		out := &Error{Op: op, Name: name, Err: ErrRefused, Detail: said.Error()}
		if low := strings.ToLower(said.text); strings.Contains(low, "pull access denied") || strings.Contains(low, "no such image") || strings.Contains(low, "manifest unknown") {
			out.Err, out.Advice = ErrNoImage, "docker image ls shows what is there; docker pull brings another"
		}
		return out
	}
	out := e.fail(ctx, op, name, err)
	if f, ok := errors.AsType[*Error](out); ok && errors.Is(f.Err, ErrNotFound) {
		f.Err, f.Detail, f.Advice = ErrNoImage, "", "holdfast workspace image build"
	}
	return out
}

// saidError is what the engine says in the middle of an answer that began well.
type saidError struct{ text string }

func (e *saidError) Error() string { return strings.TrimSpace(e.text) }

// result is what the last messages of a stream said.
type result struct{ status, id string }

// messages reads the engine's lines until they end.
func messages(r io.Reader, progress func(string)) (result, error) {
	var last result
	dec := json.NewDecoder(r)
	for {
		var m jsonstream.Message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return last, nil
		} else if err != nil {
			return last, fmt.Errorf("read the engine's answer: %w", err)
		}
		if m.Error != nil {
			return last, &saidError{m.Error.Message}
		}
		if m.Aux != nil {
			var aux struct{ ID string }
			if json.Unmarshal(*m.Aux, &aux) == nil && aux.ID != "" {
				last.id = aux.ID
			}
		}
		if m.Status != "" {
			last.status = m.Status
		}
		if progress == nil {
			continue
		}
		for line := range strings.Lines(m.Stream + m.Status) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				progress(line)
			}
		}
	}
}
