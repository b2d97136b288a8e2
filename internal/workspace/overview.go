package workspace

import (
	"context"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Overview is the status of a workspace: its settings and the state of its container. If the
// settings cannot be read they are missing, and Problem has the reason.
type Overview struct {
	Slug string `json:"slug"`
	*Settings
	// Folder is the workspace's folder on the host.
	Folder string `json:"folder"`
	// SessionProject selects its sessions; see [Settings.SessionProject].
	SessionProject string `json:"session_project,omitempty"`
	Container      *State `json:"container,omitempty"`
	// Problem says why the settings or the container cannot be inspected.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`

	// Err is the error behind Problem.
	Err error `json:"-"`
}

// Overview inspects a workspace and its container, and changes nothing. An engine that does not answer is not an
// error: Problem says so.
func (w *Workspaces) Overview(ctx context.Context, slug string) (*Overview, error) {
	s, err := w.Get(ctx, slug)
	if err != nil {
		return nil, err
	}
	o := w.overview(Entry{Slug: slug, Settings: s})
	w.inspect(ctx, &o)
	return &o, nil
}

// Overviews inspects all workspaces, by name: [Workspaces.List] with containers.
func (w *Workspaces) Overviews(ctx context.Context) ([]Overview, error) {
	list, err := w.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Overview, len(list))
	_, _, missing := w.findEngine(ctx)
	turns := make(chan struct{}, 8) // limits concurrent calls to engines
	var wg sync.WaitGroup
	for i := range list {
		out[i] = w.overview(list[i])
		if list[i].Settings == nil {
			continue
		}
		if missing != nil {
			out[i].setProblem(missing)
			continue
		}
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			w.inspect(ctx, &out[i])
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

func (w *Workspaces) overview(l Entry) Overview {
	o := Overview{Slug: l.Slug, Settings: l.Settings, Folder: w.dirs(&Settings{Slug: l.Slug}).Base}
	if l.Settings != nil {
		o.SessionProject = l.Settings.SessionProject()
	}
	o.setProblem(l.Err)
	return o
}

// inspect fills in the state of the container.
func (w *Workspaces) inspect(ctx context.Context, o *Overview) {
	state, err := w.ContainerState(ctx, o.Slug)
	if err == nil {
		o.Container = &state
		return
	}
	o.setProblem(err)
}

func (o *Overview) setProblem(err error) {
	if err == nil {
		return
	}
	o.Err, o.Problem, o.Hint = err, err.Error(), outcome.Hint(err)
}

// Engine is the container engine that workspaces use.
type Engine struct {
	Name     string `json:"name"` // "Docker 20.10.24", "Podman 4.3.1"
	API      string `json:"api"`
	CPUs     int    `json:"cpus"`
	Memory   Bytes  `json:"memory"`
	Cgroup   string `json:"cgroup,omitempty"`
	Rootless bool   `json:"rootless,omitempty"`
}

// Engine returns the container engine's name and version. Error: [ErrNoEngine].
func (w *Workspaces) Engine(ctx context.Context) (*Engine, error) {
	_, info, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	return &Engine{
		Name: info.Name, API: info.API, CPUs: info.CPUs, Memory: Bytes(info.Memory), Cgroup: info.Cgroup, Rootless: info.Rootless,
	}, nil
}

// ProjectFolder returns the host folder that is [WorkFolder] in the container.
func (w *Workspaces) ProjectFolder(s *Settings) string { return w.dirs(s).Project }

// OfProject returns the workspace of a session, from the project in its metadata. ok is false for a session of the
// host.
func OfProject(project string) (slug, id string, ok bool) {
	rest, ok := strings.CutPrefix(project, "workspace:")
	if !ok {
		return "", "", false
	}
	slug, id, ok = strings.Cut(rest, ":")
	return slug, id, ok
}
