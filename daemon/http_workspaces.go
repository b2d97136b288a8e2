package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/workspace"
)

func (a *api) workspaceRoutes() []route {
	some := []outcome.Outcome{outcome.NotFound, outcome.NotOffered, outcome.Corrupt}
	ran := append(some, outcome.NoEngine, outcome.Conflict)
	list := []route{
		{
			method: http.MethodGet, path: "/v1/workspaces", id: "listWorkspaces", tag: "workspaces",
			doc:   "All workspaces, by name, with their containers. One that is damaged is in the list, with its problem.",
			scope: auth.Read, answer: listOf[Workspace]{}, problems: []outcome.Outcome{outcome.NotOffered}, serve: a.listWorkspaces,
		},
		{
			method: http.MethodPost, path: "/v1/workspaces", id: "createWorkspace", tag: "workspaces",
			doc:   "Makes a workspace. Its container is made when it is needed first.",
			scope: auth.Admin, body: workspaceRequest{}, status: http.StatusCreated, answer: Workspace{},
			problems: []outcome.Outcome{outcome.NotOffered, outcome.Conflict}, serve: a.createWorkspace,
		},
		{
			method: http.MethodGet, path: "/v1/workspaces/{slug}", id: "getWorkspace", tag: "workspaces", doc: "One workspace.",
			scope: auth.Read, answer: Workspace{}, problems: some, serve: a.getWorkspace,
		},
		{
			method: http.MethodPatch, path: "/v1/workspaces/{slug}", id: "patchWorkspace", tag: "workspaces",
			doc: "Changes settings. What is left out stays, a list is replaced as a whole. A container that runs is made anew " +
				"when nobody works in it.",
			scope: auth.Admin, body: workspacePatch{}, answer: Workspace{}, problems: some, serve: a.patchWorkspace,
		},
		{
			method: http.MethodDelete, path: "/v1/workspaces/{slug}", id: "deleteWorkspace", tag: "workspaces",
			doc: "Deletes a workspace: its container, the home of its agents, and a project that belongs to it. Sessions stay. " +
				"What ended early can be deleted again.",
			scope: auth.Admin, answer: deletedWorkspace{}, problems: append(ran, outcome.Busy), serve: a.deleteWorkspace,
			query: []param{{name: "no_engine", doc: "leaves out the container: for when its engine is gone for good", kind: "boolean"}},
		},
		{
			method: http.MethodPost, path: "/v1/workspaces/{slug}/start", id: "startWorkspace", tag: "workspaces",
			doc: "Makes or starts the container.", scope: auth.Run, answer: Workspace{}, problems: ran, serve: a.startWorkspace,
		},
		{
			method: http.MethodPost, path: "/v1/workspaces/{slug}/stop", id: "stopWorkspace", tag: "workspaces",
			doc:   "Stops the container, with everything that runs in it. It is kept.",
			scope: auth.Run, answer: Workspace{}, problems: ran, serve: a.stopWorkspace,
		},
		{
			method: http.MethodGet, path: "/v1/workspaces/{slug}/usage", id: "getWorkspaceUsage", tag: "workspaces",
			doc:   "What a workspace keeps on the disk. It is measured anew each time.",
			scope: auth.Read, answer: WorkspaceUsage{}, problems: some, serve: a.workspaceUsage,
		},
	}
	return append(append(list, a.fileRoutes(some)...), a.imageRoutes()...)
}

// Workspace is a workspace as the interface shows it: of one whose settings cannot be
// read only the name, the folder and the problem.
type Workspace struct {
	Slug           string            `json:"slug" jsonschema:"its name"`
	ID             string            `json:"id,omitempty" jsonschema:"tells it from an earlier one of the same name"`
	Created        time.Time         `json:"created,omitzero"`
	Project        string            `json:"project,omitempty" jsonschema:"the folder that is /work inside; left out of one that has a folder of its own"`
	Image          string            `json:"image,omitempty" jsonschema:"what the container is made of; left out for the default"`
	Agent          *workspaceAgent   `json:"agent,omitempty"`
	Model          string            `json:"model,omitempty" jsonschema:"the agent's name of its model"`
	Limits         *workspaceLimits  `json:"limits,omitempty"`
	Network        *workspaceNetwork `json:"network,omitempty"`
	Mounts         []workspaceMount  `json:"mounts,omitempty"`
	Credentials    []string          `json:"credentials,omitempty" jsonschema:"names of variables whose values agents get"`
	Trust          string            `json:"trust,omitempty" jsonschema:"sandboxed"`
	Folder         string            `json:"folder" jsonschema:"where it keeps what is its own"`
	SessionProject string            `json:"session_project,omitempty" jsonschema:"the project of its sessions, for GET /v1/sessions"`
	Container      *workspace.State  `json:"container,omitempty"`
	Problem        string            `json:"problem,omitempty" jsonschema:"why the settings or the container cannot be looked at"`
	Hint           string            `json:"hint,omitempty"`
}

type workspaceAgent struct {
	Kind    string   `json:"kind" jsonschema:"holdfast, claude, codex or acp"`
	Command []string `json:"command,omitempty" jsonschema:"starts it instead of its own program"`
}

type workspaceLimits struct {
	Memory string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   float64 `json:"cpus,omitempty"`
	PIDs   int64   `json:"pids,omitempty" jsonschema:"processes and threads"`
	Disk   string  `json:"disk,omitempty" jsonschema:"20g, or none"`
}

type workspaceNetwork struct {
	Mode    string   `json:"mode" jsonschema:"none or proxy"`
	Domains []string `json:"domains,omitempty" jsonschema:"what the proxy lets through"`
}

type workspaceMount struct {
	Host     string `json:"host"`
	At       string `json:"at"`
	ReadOnly bool   `json:"readonly,omitempty"`
}

// workspacePatch is what may be changed, and said of a new one.
type workspacePatch struct {
	Project     *string           `json:"project,omitempty" jsonschema:"a folder of the daemon's machine, absolute and without links; empty is a folder of its own"`
	Image       *string           `json:"image,omitempty"`
	Agent       *workspaceAgent   `json:"agent,omitempty" jsonschema:"replaced as a whole"`
	Model       *string           `json:"model,omitempty"`
	Limits      *limitsPatch      `json:"limits,omitempty" jsonschema:"a limit that is left out stays"`
	Network     *workspaceNetwork `json:"network,omitempty" jsonschema:"replaced as a whole"`
	Mounts      []workspaceMount  `json:"mounts,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
}

type workspaceRequest struct {
	Slug        string            `json:"slug" jsonschema:"1 to 63 letters a to z, digits and dashes in between"`
	Project     *string           `json:"project,omitempty" jsonschema:"a folder of the daemon's machine, absolute and without links; left out: a folder of its own"`
	Image       *string           `json:"image,omitempty"`
	Agent       *workspaceAgent   `json:"agent,omitempty"`
	Model       *string           `json:"model,omitempty"`
	Limits      *limitsPatch      `json:"limits,omitempty"`
	Network     *workspaceNetwork `json:"network,omitempty"`
	Mounts      []workspaceMount  `json:"mounts,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
}

func (r *workspaceRequest) patch() *workspacePatch {
	return &workspacePatch{r.Project, r.Image, r.Agent, r.Model, r.Limits, r.Network, r.Mounts, r.Credentials}
}

// apply changes settings to what the patch says.
func (p *workspacePatch) apply(s *workspace.Settings) error {
	for _, f := range []struct{ to, given *string }{{&s.Project, p.Project}, {&s.Image, p.Image}, {&s.Model, p.Model}} {
		if f.given != nil {
			*f.to = *f.given
		}
	}
	if p.Agent != nil {
		if p.Agent.Kind == "" {
			return notUsable("agent.kind", "is needed", "the kinds are holdfast, claude, codex, acp")
		}
		s.Agent = workspace.AgentSpec{Kind: p.Agent.Kind, Command: p.Agent.Command}
	}
	if p.Network != nil {
		if p.Network.Mode == "" {
			return notUsable("network.mode", "is needed", "the modes are none and proxy")
		}
		s.Network = workspace.Network{Mode: p.Network.Mode, Domains: p.Network.Domains}
	}
	if p.Mounts != nil {
		s.Mounts = nil
		for _, m := range p.Mounts {
			s.Mounts = append(s.Mounts, workspace.Mount{Host: m.Host, At: m.At, ReadOnly: m.ReadOnly})
		}
	}
	if p.Credentials != nil {
		s.Credentials = p.Credentials
	}
	if p.Limits != nil {
		return p.Limits.apply(&s.Limits)
	}
	return nil
}

// limitsPatch are limits that a client names.
type limitsPatch struct {
	Memory *string  `json:"memory,omitempty" jsonschema:"512m, 2g"`
	CPUs   *float64 `json:"cpus,omitempty"`
	PIDs   *int64   `json:"pids,omitempty" jsonschema:"processes and threads"`
	Disk   *string  `json:"disk,omitempty" jsonschema:"20g, or none"`
}

func (l *limitsPatch) apply(to *workspace.Limits) error {
	for _, f := range []struct {
		name  string
		given *string
		to    *workspace.Bytes
	}{{"limits.memory", l.Memory, &to.Memory}, {"limits.disk", l.Disk, &to.Disk}} {
		if f.given == nil {
			continue
		}
		n, err := workspace.ParseBytes(*f.given)
		if err != nil || n == 0 {
			return notUsable(f.name, "is no number of bytes", `write "512m" or "2g"`)
		}
		*f.to = n
	}
	if l.CPUs != nil {
		if *l.CPUs == 0 { // it would be the default
			return notUsable("limits.cpus", "is no number of processors", "write a number such as 2 or 0.5")
		}
		to.CPUs = *l.CPUs
	}
	if l.PIDs != nil {
		if *l.PIDs == 0 {
			return notUsable("limits.pids", "is too few for anything to run", "512 is good for an agent")
		}
		to.PIDs = *l.PIDs
	}
	return nil
}

// notUsable says what is wrong with a field of settings.
func notUsable(field, what, hint string) error {
	return &refusal{out: outcome.Usage, detail: field + " " + what, hint: hint, field: field}
}

func shownWorkspace(o *workspace.Overview) Workspace {
	w := Workspace{
		Slug: o.Slug, Folder: o.Folder, SessionProject: o.SessionProject, Container: o.Container, Problem: o.Problem, Hint: o.Hint,
	}
	s := o.Settings
	if s == nil {
		return w
	}
	w.ID, w.Created, w.Project, w.Image, w.Model, w.Credentials, w.Trust = s.ID, s.Created, s.Project, s.Image, s.Model, s.Credentials, string(s.Trust)
	w.Agent = &workspaceAgent{s.Agent.Kind, s.Agent.Command}
	w.Limits = &workspaceLimits{s.Limits.Memory.String(), s.Limits.CPUs, s.Limits.PIDs, s.Limits.Disk.String()}
	w.Network = &workspaceNetwork{s.Network.Mode, s.Network.Domains}
	for _, m := range s.Mounts {
		w.Mounts = append(w.Mounts, workspaceMount(m))
	}
	return w
}

// spaces are the workspaces of the daemon.
func (a *api) spaces() (*workspace.Workspaces, error) {
	if a.o.Workspaces == nil {
		return nil, notOffered()
	}
	return a.o.Workspaces, nil
}

// spacesAsked are the workspaces of the daemon, when a request's body can be read into q.
func (a *api) spacesAsked(c *call, q any) (*workspace.Workspaces, error) {
	w, err := a.spaces()
	if err == nil {
		err = c.into(q)
	}
	return w, err
}

// folder is where a run works: in the project of its workspace, or in cwd.
func (o *Options) folder(ctx context.Context, slug, cwd string) (string, error) {
	switch {
	case slug == "":
		return cwd, nil
	case cwd != "":
		return "", refuse(outcome.Usage, "workspace and cwd exclude each other", "leave cwd out: the workspace has its project")
	case o.Workspaces == nil:
		return "", notOffered()
	}
	s, err := o.Workspaces.Get(ctx, slug)
	if err != nil {
		return "", err
	}
	return o.Workspaces.ProjectFolder(s), nil
}

func (a *api) listWorkspaces(c *call) error {
	return listAll(a, c, (*workspace.Workspaces).Overviews, shownWorkspace)
}

// listAll answers with a list of the workspaces' that has one page.
func listAll[S, T any](a *api, c *call, list func(*workspace.Workspaces, context.Context) ([]S, error), show func(*S) T) error {
	w, err := a.spaces()
	if err != nil {
		return err
	}
	all, err := list(w, c.ctx())
	if err != nil {
		return err
	}
	return c.json(listOf[T]{Items: shownAll(all, show)})
}

// onWorkspace calls do with the name of the path, and tells how the workspace is then.
func (a *api) onWorkspace(c *call, do func(ctx context.Context, w *workspace.Workspaces, slug string) error) error {
	w, err := a.spaces()
	if err != nil {
		return err
	}
	slug := c.path("slug")
	if err := workspace.CheckSlug(slug); err != nil {
		return err
	}
	if err := do(c.ctx(), w, slug); err != nil {
		return err
	}
	o, err := w.Overview(c.ctx(), slug)
	if err != nil {
		return err
	}
	return c.json(shownWorkspace(o))
}

func (a *api) getWorkspace(c *call) error {
	return a.onWorkspace(c, func(context.Context, *workspace.Workspaces, string) error { return nil })
}

func (a *api) createWorkspace(c *call) error {
	var q workspaceRequest
	w, err := a.spacesAsked(c, &q)
	if err != nil {
		return err
	}
	s := workspace.Settings{Slug: q.Slug}
	if err := q.patch().apply(&s); err != nil {
		return err
	}
	if _, err := w.Create(c.ctx(), s); err != nil {
		return err
	}
	o, err := w.Overview(c.ctx(), q.Slug)
	if err != nil {
		return err
	}
	c.header("Location", "/v1/workspaces/"+q.Slug)
	return c.json(shownWorkspace(o))
}

func (a *api) patchWorkspace(c *call) error {
	var q workspacePatch
	if err := c.into(&q); err != nil {
		return err
	}
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		_, err := w.Set(ctx, slug, q.apply)
		return err
	})
}

type deletedWorkspace struct {
	Deleted  string   `json:"deleted" jsonschema:"its name"`
	Entries  int64    `json:"entries" jsonschema:"files and folders that were removed"`
	Sessions int      `json:"sessions_told" jsonschema:"its sessions; they stay"`
	Notices  []string `json:"notices,omitempty"`
}

func (a *api) deleteWorkspace(c *call) error {
	w, err := a.spaces()
	if err != nil {
		return err
	}
	slug := c.path("slug")
	gone, err := w.Delete(c.ctx(), slug, &workspace.DeleteOptions{NoEngine: c.query["no_engine"] == "true"})
	if err != nil {
		return err
	}
	return c.json(deletedWorkspace{slug, gone.Entries, gone.Sessions, gone.Notices})
}

func (a *api) startWorkspace(c *call) error {
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		made, err := w.Ensure(ctx, slug)
		if err != nil {
			return err
		}
		return made.Close()
	})
}

func (a *api) stopWorkspace(c *call) error {
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		if _, err := w.Get(ctx, slug); err != nil {
			return err
		}
		return w.Stop(ctx, slug)
	})
}

// WorkspaceUsage is what a workspace keeps on the disk.
type WorkspaceUsage struct {
	Slug    string         `json:"slug"`
	Home    WorkspaceSize  `json:"home"`
	Project *WorkspaceSize `json:"project,omitempty" jsonschema:"of a project that belongs to the workspace; others are not measured"`
	Bytes   int64          `json:"bytes" jsonschema:"of both; it counts against the limit"`
	Limit   string         `json:"limit"`
	Over    bool           `json:"over" jsonschema:"no turn begins any more"`
}

// WorkspaceSize is what a folder holds.
type WorkspaceSize struct {
	Bytes   int64 `json:"bytes"`
	Files   int64 `json:"files"`
	Folders int64 `json:"folders"`
	Unread  int64 `json:"unread,omitempty" jsonschema:"folders that could not be looked into; what is there is not counted"`
}

func (a *api) workspaceUsage(c *call) error {
	w, err := a.spaces()
	if err != nil {
		return err
	}
	slug := c.path("slug")
	s, err := w.Get(c.ctx(), slug)
	if err != nil {
		return err
	}
	u, err := w.Usage(c.ctx(), slug)
	if err != nil {
		return err
	}
	size := func(s workspace.Size) WorkspaceSize { return WorkspaceSize{s.Bytes, s.Files, s.Folders, s.Unread} }
	out := WorkspaceUsage{Slug: slug, Home: size(u.Home), Bytes: u.Total().Bytes, Limit: u.Limit.String(), Over: u.Over()}
	if s.Project == "" {
		project := size(u.Project)
		out.Project = &project
	}
	return c.json(out)
}
