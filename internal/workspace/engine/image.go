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
	img.Created, _ = time.Parse(time.RFC3339Nano, r.Created) // the zero time where the image has none
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
		if has(s.Labels, labels) {
			list = append(list, Image{ID: s.ID, Tags: s.RepoTags, Labels: s.Labels, Size: s.Size, Created: time.Unix(s.Created, 0)})
		}
	}
	return list, nil
}

// RemoveImage takes an image away, or one name of it when it has more.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	return e.failImage(ctx, "remove image", ref, e.api.delete(limited, "/images/"+ref, nil))
}

// Import makes an image of one layer from a tar of its files. The changes are lines of
// a Dockerfile: ENTRYPOINT, ENV, LABEL, USER, WORKDIR. The context is its only limit of
// time.
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
	r, err := e.api.upload(ctx, "/build", o.query(), tar)
	if err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	last, err := messages(r, o.Progress)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", e.failImage(ctx, "build image", o.Ref, err)
	}
	if last.id == "" {
		return "", &Error{Op: "build image", Name: o.Ref, Err: ErrRefused, Detail: "the engine does not say which image it has built"}
	}
	return last.id, e.Tag(ctx, last.id, o.Ref)
}

// query says the same in the API's words.
func (o BuildOptions) query() url.Values {
	query := url.Values{"forcerm": {"1"}} // containers of the steps go, however a build ends
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
	case "default": // the engine's, without a word
	default:
		set("networkmode", o.Network)
	}
	for key, values := range map[string]map[string]string{"buildargs": o.Args, "labels": o.Labels} {
		if len(values) > 0 {
			b, _ := json.Marshal(values) // strings only
			set(key, string(b))
		}
	}
	return query
}

// failImage is fail where what was not found is an image, or something that an image
// should be made of.
func (e *Engine) failImage(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	var said *streamError
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

// streamError is what the engine says in the middle of an answer that began well.
type streamError struct{ text string }

func (e *streamError) Error() string { return strings.TrimSpace(e.text) }

// result is what the last messages of a stream said.
type result struct{ status, id string }

// message is one of those that an engine sends while it works.
type message struct {
	Stream, Status string
	Error          string
	Detail         *struct{ Message string } `json:"errorDetail"`
	Aux            json.RawMessage
}

// messages reads the engine's lines until they end.
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
		if m.Error != "" { // an engine that does not send the detail
			return last, &streamError{m.Error}
		}
		var aux struct{ ID string } // other messages have something else here
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
