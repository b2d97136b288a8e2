package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Image describes an image, as the engine reports it.
type Image struct {
	ID       string // "sha256:…"
	Tags     []string
	Labels   map[string]string
	Platform string   // "linux/amd64"
	User     string   // the user that the creator of the image set
	Volumes  []string // folders that would become volumes, by name
	Size     int64    // bytes
	Created  time.Time
}

// Image returns the image with a name or id. A missing one is [ErrNoImage].
func (e *Engine) Image(ctx context.Context, ref string) (Image, error) {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	var r struct {
		ID               string `json:"Id"`
		RepoTags         []string
		Os, Architecture string
		Size             int64
		Created          string
		Config           struct {
			Labels  map[string]string
			User    string
			Volumes map[string]struct{}
		}
	}
	if ref == "" {
		return Image{}, &Error{Op: "inspect image", Err: ErrNoImage, Advice: "holdfast workspace image build"}
	}
	if err := e.api.get(limited, "/images/"+ref+"/json", nil, &r); err != nil {
		return Image{}, e.failImage(ctx, "inspect image", ref, err)
	}
	img := Image{ID: r.ID, Tags: r.RepoTags, Platform: r.Os + "/" + r.Architecture, Size: r.Size}
	img.Created, _ = time.Parse(time.RFC3339Nano, r.Created) // the zero time if the image has no creation time
	img.Labels, img.User = r.Config.Labels, r.Config.User
	img.Volumes = slices.Sorted(maps.Keys(r.Config.Volumes))
	return img, nil
}

// Images lists the images that have all the labels.
func (e *Engine) Images(ctx context.Context, labels map[string]string) ([]Image, error) {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	var r []struct {
		ID       string `json:"Id"`
		RepoTags []string
		Labels   map[string]string
		Size     int64
		Created  int64
	}
	if err := e.api.get(limited, "/images/json", filters{}.labels(labels).query(), &r); err != nil {
		return nil, e.failImage(ctx, "list images", "", err)
	}
	var list []Image
	for _, s := range r {
		if hasLabels(s.Labels, labels) {
			list = append(list, Image{ID: s.ID, Tags: s.RepoTags, Labels: s.Labels, Size: s.Size, Created: time.Unix(s.Created, 0)})
		}
	}
	return list, nil
}

// RemoveImage removes an image. If the image has several names, it removes only the given name.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	return e.failImage(ctx, "remove image", ref, e.api.delete(limited, "/images/"+ref, nil))
}

// Import creates an image that has one layer, from a tar archive of its files. The changes are
// lines of a Dockerfile: ENTRYPOINT, ENV, LABEL, USER, WORKDIR. Only the context limits its time.
func (e *Engine) Import(ctx context.Context, tar io.Reader, ref string, changes []string) (id string, err error) {
	if _, err := parseReference(ref); err != nil {
		return "", e.failImage(ctx, "import image", ref, err)
	}
	query := url.Values{"fromSrc": {"-"}, "repo": {ref}}
	if len(changes) > 0 {
		query["changes"] = changes
	}
	res, err := e.api.send(ctx, http.MethodPost, "/images/create", query, nil, tar)
	if err != nil {
		return "", e.failImage(ctx, "import image", ref, err)
	}
	last, err := messages(res.Body, nil)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return "", e.failImage(ctx, "import image", ref, err)
	}
	if strings.HasPrefix(last.status, "sha256:") {
		return last.status, nil
	}
	img, err := e.Image(ctx, ref)
	return img.ID, err
}

// BuildOptions configures [Engine.Build].
type BuildOptions struct {
	Ref        string
	Dockerfile string // path of the Dockerfile in the tar archive; "" is Dockerfile
	Labels     map[string]string
	Args       map[string]string
	Fresh      bool // ignore the build cache
	// Network is the network of the build's commands: "none", "default" or "host"; "" is "none".
	Network string
	// Progress receives the engine's messages, line by line; it may be nil.
	Progress func(line string)
}

// Build builds an image from a tar archive with a Dockerfile and the files that it copies. Only the
// context limits its time. A missing base image is [ErrNoImage]. Build itself names the image after
// it is complete. The engine may notice late that a request was canceled, and could otherwise give
// the name to the image of a canceled build.
func (e *Engine) Build(ctx context.Context, tar io.Reader, o BuildOptions) (id string, err error) {
	r, err := e.api.upload(ctx, "/build", o.query(), tar)
	if err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	last, err := messages(r, o.Progress)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	if last.id == "" {
		return "", &Error{Op: "build image", Name: o.Ref, Err: ErrRefused, Detail: "the engine did not return the id of the built image"}
	}
	return last.id, e.Tag(ctx, last.id, o.Ref)
}

// query returns the API's query parameters.
func (o BuildOptions) query() url.Values {
	query := url.Values{"forcerm": {"1"}} // removes the containers of the build steps, also if the build fails
	set := func(key, value string) {
		if value != "" {
			query.Set(key, value)
		}
	}
	set("dockerfile", o.Dockerfile)
	if o.Fresh {
		set("nocache", "1")
	}
	switch o.Network {
	case "":
		set("networkmode", "none")
	case "default": // the engine's default needs no parameter
	default:
		set("networkmode", o.Network)
	}
	for key, values := range map[string]map[string]string{"buildargs": o.Args, "labels": o.Labels} {
		if len(values) > 0 {
			b, _ := json.Marshal(values) // only strings: cannot fail
			set(key, string(b))
		}
	}
	return query
}

// failImage is like fail, for calls in which the missing object is an image or its base.
func (e *Engine) failImage(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	var streamErr *streamError
	if errors.As(err, &streamErr) && ctx.Err() == nil {
		out := &Error{Op: op, Name: name, Err: ErrRefused, Detail: streamErr.Error()}
		if low := strings.ToLower(streamErr.text); strings.Contains(low, "pull access denied") || strings.Contains(low, "no such image") || strings.Contains(low, "manifest unknown") {
			out.Err, out.Advice = ErrNoImage, "list the images with docker image ls, or get one with docker pull"
		}
		return out
	}
	out := e.fail(ctx, op, name, err)
	if f, ok := errors.AsType[*Error](out); ok && errors.Is(f.Err, ErrNotFound) {
		f.Err, f.Detail, f.Advice = ErrNoImage, "", "holdfast workspace image build"
	}
	return out
}

// streamError is an error that the engine reports within a successful response.
type streamError struct{ text string }

func (e *streamError) Error() string { return strings.TrimSpace(e.text) }

// result is the information in the last messages of a stream.
type result struct{ status, id string }

// message is one message of a running engine operation.
type message struct {
	Stream, Status string
	Error          string
	Detail         *struct{ Message string } `json:"errorDetail"`
	Aux            json.RawMessage
}

// messages reads the engine's messages until the end.
func messages(r io.Reader, progress func(string)) (result, error) {
	var last result
	dec := json.NewDecoder(r)
	for {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return last, nil
		} else if err != nil {
			return last, fmt.Errorf("read the engine's answer: %w", err)
		}
		if m.Detail != nil {
			return last, &streamError{m.Detail.Message}
		}
		if m.Error != "" { // for engines that do not send errorDetail
			return last, &streamError{m.Error}
		}
		var aux struct{ ID string } // other messages have this field with a different type
		if m.Aux != nil && json.Unmarshal(m.Aux, &aux) == nil && aux.ID != "" {
			last.id = aux.ID
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
