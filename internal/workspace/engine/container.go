package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// State is what a container is doing.
type State string

// The states, in the engine's words.
const (
	Created    State = "created"
	Running    State = "running"
	Paused     State = "paused"
	Restarting State = "restarting"
	Removing   State = "removing"
	Exited     State = "exited"
	Dead       State = "dead" // it could not be removed
)

// Container is what the engine says about one.
type Container struct {
	ID, Name string
	State    State
	Image    string // its id
	Labels   map[string]string
	Mounts   []string // what of the host is mounted: absolute paths
	PID      int      // of its first process, as the engine's machine counts; 0 when it does not run
	ExitCode int      // of the first process, when it has ended
	// OOMKilled says that some process in it was ended for memory since it started. The
	// engine tells it of a container that does not run any more, and it may have ended
	// for another reason.
	OOMKilled bool
	Error     string // why it did not start
}

// Create makes a container, and does not start it. It pulls no image: one that is not
// there is [ErrNoImage]. A name that is taken is [ErrConflict].
func (e *Engine) Create(ctx context.Context, s Spec) (id string, err error) {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	r, err := e.api.ContainerCreate(limited, s.request())
	if err != nil {
		return "", e.fail(ctx, "create container", s.Name, err)
	}
	return r.ID, nil
}

// Inspect looks at the container of a name or id.
func (e *Engine) Inspect(ctx context.Context, name string) (Container, error) {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	r, err := e.api.ContainerInspect(limited, name, client.ContainerInspectOptions{})
	if err != nil {
		return Container{}, e.fail(ctx, "inspect container", name, err)
	}
	c := Container{ID: r.Container.ID, Name: strings.TrimPrefix(r.Container.Name, "/"), Image: r.Container.Image}
	if r.Container.Config != nil {
		c.Labels = r.Container.Config.Labels
	}
	c.Mounts = sources(r.Container.Mounts)
	if s := r.Container.State; s != nil {
		c.State, c.PID, c.ExitCode, c.OOMKilled, c.Error = State(s.Status), s.Pid, s.ExitCode, s.OOMKilled, s.Error
	}
	if c.State == "stopped" { // Podman's word
		c.State = Exited
	}
	return c, nil
}

// InspectRaw is the engine's whole answer, in JSON: what everybody reads who may ask.
func (e *Engine) InspectRaw(ctx context.Context, name string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	r, err := e.api.ContainerInspect(limited, name, client.ContainerInspectOptions{})
	if err != nil {
		return nil, e.fail(ctx, "inspect container", name, err)
	}
	return r.Raw, nil
}

func sources(mounts []container.MountPoint) []string {
	var list []string
	for _, m := range mounts {
		list = append(list, m.Source)
	}
	return list
}

// List finds the containers that have all the labels, running or not, by name. Only
// ID, Name, State, Image, Labels and Mounts are filled.
func (e *Engine) List(ctx context.Context, labels map[string]string) ([]Container, error) {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	filters := client.Filters{}
	for k, v := range labels {
		filters.Add("label", k+"="+v)
	}
	r, err := e.api.ContainerList(limited, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, e.fail(ctx, "list containers", "", err)
	}
	var list []Container
	for _, s := range r.Items {
		c := Container{ID: s.ID, State: State(s.State), Image: s.ImageID, Labels: s.Labels, Mounts: sources(s.Mounts)}
		if len(s.Names) > 0 {
			c.Name = strings.TrimPrefix(s.Names[0], "/")
		}
		if has(c.Labels, labels) { // an engine that filters less
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func has(all, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Start runs a container that is not running. One that runs stays as it is.
func (e *Engine) Start(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	_, err := e.api.ContainerStart(limited, id, client.ContainerStartOptions{})
	return e.fail(ctx, "start container", id, ignore(err, errdefs.IsNotModified))
}

// Unpause lets a container go on.
func (e *Engine) Unpause(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	_, err := e.api.ContainerUnpause(limited, id, client.ContainerUnpauseOptions{})
	return e.fail(ctx, "unpause container", id, err)
}

// Stop asks the first process to end and kills the container after a grace, which is
// rounded up to seconds. One that does not run stays as it is.
func (e *Engine) Stop(ctx context.Context, id string, grace time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, grace+slow)
	defer cancel()
	seconds := int((grace + time.Second - 1) / time.Second)
	_, err := e.api.ContainerStop(limited, id, client.ContainerStopOptions{Timeout: &seconds})
	return e.fail(ctx, "stop container", id, ignore(err, errdefs.IsNotModified))
}

// Remove takes a container away, with what runs in it and the volumes that its image
// asked for, and returns when it is gone. One that is not there is gone already.
func (e *Engine) Remove(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	_, err := e.api.ContainerRemove(limited, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	if !errdefs.IsConflict(err) { // somebody else removes it
		return e.fail(ctx, "remove container", id, err)
	}
	return e.gone(ctx, limited, id)
}

// gone waits until a container that is being removed is.
func (e *Engine) gone(ctx, limited context.Context, id string) error {
	wait := e.api.ContainerWait(limited, id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		return e.fail(ctx, "remove container", id, ignore(err, errdefs.IsNotFound))
	case <-limited.Done():
		return e.fail(ctx, "remove container", id, limited.Err())
	}
}

func ignore(err error, is func(error) bool) error {
	if is(err) {
		return nil
	}
	return err
}

// Logs is the end of what a container's first process has written, at most so many
// lines.
func (e *Engine) Logs(ctx context.Context, id string, lines int) (string, error) {
	limited, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	r, err := e.api.ContainerLogs(limited, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(lines)})
	if err != nil {
		return "", e.fail(ctx, "read the log of container", id, err)
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = stdcopy.StdCopy(&b, &b, r)
	return strings.TrimSpace(b.String()), errors.Join(e.fail(ctx, "read the log of container", id, err))
}
