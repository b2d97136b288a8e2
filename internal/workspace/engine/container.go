package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the state of a container.
type State string

// These are the states, with the names that the engine uses.
const (
	Created    State = "created"
	Running    State = "running"
	Paused     State = "paused"
	Restarting State = "restarting"
	Removing   State = "removing"
	Exited     State = "exited"
	Dead       State = "dead" // the container could not be removed
)

// Container describes a container, as the engine reports it.
type Container struct {
	ID, Name string
	State    State
	Image    string // its id
	Labels   map[string]string
	Mounts   []string // mounted host paths, absolute
	PID      int      // process id of the first process on the machine of the engine; 0 if it does not run
	ExitCode int      // of the first process, if it has ended
	// OOMKilled means that a process in the container was killed for lack of memory since it
	// started. The engine reports it for a stopped container, which may have stopped for another
	// reason.
	OOMKilled bool
	Error     string // the reason why it did not start
}

// Create creates a container and does not start it. It pulls no image: a missing one is
// [ErrNoImage]. If the name is in use, the error is [ErrConflict].
func (e *Engine) Create(ctx context.Context, s Spec) (id string, err error) {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	if s.Image == "" {
		return "", &Error{Op: "create container", Name: s.Name, Err: ErrRefused, Detail: "no image given"}
	}
	query := url.Values{}
	if s.Name != "" {
		query.Set("name", s.Name)
	}
	var made struct {
		ID string `json:"Id"`
	}
	if err := e.api.post(limited, "/containers/create", query, s.request(), &made); err != nil {
		return "", e.fail(ctx, "create container", s.Name, err)
	}
	return made.ID, nil
}

// Inspect returns the container with this name or id.
func (e *Engine) Inspect(ctx context.Context, name string) (Container, error) {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	var r struct {
		ID          string `json:"Id"`
		Name, Image string
		Config      struct{ Labels map[string]string }
		Mounts      []mountPoint
		State       struct {
			Status        State
			Pid, ExitCode int
			OOMKilled     bool
			Error         string
		}
	}
	if err := e.api.get(limited, "/containers/"+name+"/json", nil, &r); err != nil {
		return Container{}, e.fail(ctx, "inspect container", name, err)
	}
	c := Container{
		ID: r.ID, Name: strings.TrimPrefix(r.Name, "/"), Image: r.Image, Labels: r.Config.Labels, Mounts: sources(r.Mounts),
		State: r.State.Status, PID: r.State.Pid, ExitCode: r.State.ExitCode, OOMKilled: r.State.OOMKilled, Error: r.State.Error,
	}
	if c.State == "stopped" { // Podman's name for it
		c.State = Exited
	}
	return c, nil
}

// InspectRaw returns the engine's complete response in JSON. Every user with access to the engine
// can read it.
func (e *Engine) InspectRaw(ctx context.Context, name string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	var raw json.RawMessage
	if err := e.api.get(limited, "/containers/"+name+"/json", nil, &raw); err != nil {
		return nil, e.fail(ctx, "inspect container", name, err)
	}
	return raw, nil
}

type mountPoint struct{ Source string }

func sources(mounts []mountPoint) []string {
	var list []string
	for _, m := range mounts {
		list = append(list, m.Source)
	}
	return list
}

// List returns the containers that have all the labels, running or not, by name. Only ID, Name, State, Image,
// Labels and Mounts are set.
func (e *Engine) List(ctx context.Context, labels map[string]string) ([]Container, error) {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	query := filters{}.labels(labels).query()
	query.Set("all", "1")
	var r []struct {
		ID      string `json:"Id"`
		Names   []string
		State   State
		ImageID string
		Labels  map[string]string
		Mounts  []mountPoint
	}
	if err := e.api.get(limited, "/containers/json", query, &r); err != nil {
		return nil, e.fail(ctx, "list containers", "", err)
	}
	var list []Container
	for _, s := range r {
		c := Container{ID: s.ID, State: s.State, Image: s.ImageID, Labels: s.Labels, Mounts: sources(s.Mounts)}
		if len(s.Names) > 0 {
			c.Name = strings.TrimPrefix(s.Names[0], "/")
		}
		if hasLabels(c.Labels, labels) { // some engines ignore a part of the filter
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func hasLabels(all, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Start starts a container. It does nothing if the container runs.
func (e *Engine) Start(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	return e.fail(ctx, "start container", id, e.api.post(limited, "/containers/"+id+"/start", nil, nil, nil))
}

// Unpause continues a paused container.
func (e *Engine) Unpause(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	return e.fail(ctx, "unpause container", id, e.api.post(limited, "/containers/"+id+"/unpause", nil, nil, nil))
}

// Stop asks the first process to end and kills the container after the grace time, which is rounded up to seconds.
// It does nothing if the container does not run.
func (e *Engine) Stop(ctx context.Context, id string, grace time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, grace+longTimeout)
	defer cancel()
	query := url.Values{"t": {strconv.Itoa(int((grace + time.Second - 1) / time.Second))}}
	return e.fail(ctx, "stop container", id, e.api.post(limited, "/containers/"+id+"/stop", query, nil, nil))
}

// Remove removes a container with its running processes and the volumes of its image, and returns when it is gone.
// It does nothing if the container does not exist.
func (e *Engine) Remove(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	err := e.api.delete(limited, "/containers/"+id, url.Values{"force": {"1"}, "v": {"1"}})
	switch status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusConflict: // another process is already removing it
		return e.awaitRemoved(ctx, limited, id)
	}
	return e.fail(ctx, "remove container", id, err)
}

// awaitRemoved waits until a container that is being removed is gone.
func (e *Engine) awaitRemoved(ctx, limited context.Context, id string) error {
	var ended struct{ StatusCode int } // of its first process
	err := e.api.post(limited, "/containers/"+id+"/wait", url.Values{"condition": {"removed"}}, nil, &ended)
	if status(err) == http.StatusNotFound {
		return nil
	}
	return e.fail(ctx, "remove container", id, err)
}

// Logs returns the last lines of output of a container's first process.
func (e *Engine) Logs(ctx context.Context, id string, lines int) (string, error) {
	limited, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "tail": {strconv.Itoa(lines)}}
	res, err := e.api.send(limited, http.MethodGet, "/containers/"+id+"/logs", query, nil, nil)
	if err != nil {
		return "", e.fail(ctx, "read the log of container", id, err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	err = split(&b, &b, res.Body)
	return strings.TrimSpace(b.String()), e.fail(ctx, "read the log of container", id, err)
}
