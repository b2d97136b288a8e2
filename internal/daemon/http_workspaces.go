package daemon

import (
	"context"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

func (a *service) workspaceHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"listWorkspaces":      a.listWorkspaces,
		"createWorkspace":     a.createWorkspace,
		"getWorkspace":        a.getWorkspace,
		"patchWorkspace":      a.patchWorkspace,
		"deleteWorkspace":     a.deleteWorkspace,
		"startWorkspace":      a.startWorkspace,
		"stopWorkspace":       a.stopWorkspace,
		"getWorkspaceUsage":   a.workspaceUsage,
		"listWorkspaceFiles":  a.listFiles,
		"readWorkspaceFile":   a.readFile,
		"writeWorkspaceFile":  a.writeFile,
		"deleteWorkspaceFile": a.removeFile,
		"listImages":          a.listImages,
		"buildImage":          a.buildImage,
	}
}

// applyPatch applies a patch to settings.
func applyPatch(p *routes.WorkspacePatch, s *workspace.Settings) error {
	for _, f := range []struct{ to, given *string }{{&s.Project, p.Project}, {&s.Image, p.Image}, {&s.Model, p.Model}} {
		if f.given != nil {
			*f.to = *f.given
		}
	}
	if p.Agent != nil {
		if p.Agent.Kind == "" {
			return invalidField("agent.kind", "is required", "use holdfast, claude, codex or acp")
		}
		s.Agent = workspace.AgentSpec{Kind: p.Agent.Kind, Command: p.Agent.Command}
	}
	if p.Network != nil {
		if p.Network.Mode == "" {
			return invalidField("network.mode", "is required", "use none or proxy")
		}
		s.Network = workspace.Network{Mode: p.Network.Mode, Domains: p.Network.Domains}
	}
	if p.Mounts != nil {
		s.Mounts = nil
		for _, m := range p.Mounts {
			s.Mounts = append(s.Mounts, workspace.Mount{Host: m.Host, Target: m.Target, ReadOnly: m.ReadOnly})
		}
	}
	if p.Credentials != nil {
		s.Credentials = p.Credentials
	}
	if p.Limits != nil {
		return applyLimits(p.Limits, &s.Limits)
	}
	return nil
}

func applyLimits(l *routes.LimitsPatch, to *workspace.Limits) error {
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
			return invalidField(f.name, "must be a number of bytes", `write "512m" or "2g"`)
		}
		*f.to = n
	}
	if l.CPUs != nil {
		if *l.CPUs == 0 { // 0 would select the default
			return invalidField("limits.cpus", "must be a number of processors", "write a number such as 2 or 0.5")
		}
		to.CPUs = *l.CPUs
	}
	if l.PIDs != nil {
		if *l.PIDs == 0 {
			return invalidField("limits.pids", "is too low to run anything", "use 512 for an agent")
		}
		to.PIDs = *l.PIDs
	}
	return nil
}

// invalidField returns the problem for a settings field that is invalid.
func invalidField(field, what, hint string) error {
	p := routes.NewProblem(outcome.Usage, field+" "+what, hint)
	p.Field = field
	return p
}

func apiWorkspace(o *workspace.Overview) routes.Workspace {
	w := routes.Workspace{
		Slug: o.Slug, Folder: o.Folder, SessionProject: o.SessionProject, Container: apiContainer(o.Container), Problem: o.Problem, Hint: o.Hint,
	}
	s := o.Settings
	if s == nil {
		return w
	}
	w.ID, w.Created, w.Project, w.Image, w.Model, w.Credentials, w.Trust = s.ID, s.Created, s.Project, s.Image, s.Model, s.Credentials, string(s.Trust)
	w.Agent = &routes.WorkspaceAgent{Kind: s.Agent.Kind, Command: s.Agent.Command}
	w.Limits = &routes.WorkspaceLimits{Memory: s.Limits.Memory.String(), CPUs: s.Limits.CPUs, PIDs: s.Limits.PIDs, Disk: s.Limits.Disk.String()}
	w.Network = &routes.WorkspaceNetwork{Mode: s.Network.Mode, Domains: s.Network.Domains}
	for _, m := range s.Mounts {
		w.Mounts = append(w.Mounts, routes.WorkspaceMount{Host: m.Host, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return w
}

func apiContainer(c *workspace.State) *routes.Container {
	if c == nil {
		return nil
	}
	return &routes.Container{
		Name: c.Name, ID: c.ID, State: string(c.State), Image: c.Image, Outdated: c.Outdated, Processes: c.Processes,
		Confined: c.Confined, Unconfined: c.Unconfined,
	}
}

// workspaces returns the workspaces of the daemon.
func (a *service) workspaces() (*workspace.Workspaces, error) {
	if a.o.Workspaces == nil {
		return nil, notImplemented()
	}
	return a.o.Workspaces, nil
}

// decodeForWorkspaces decodes the body of the request into q, and then returns the workspaces of
// the daemon.
func (a *service) decodeForWorkspaces(c *call, q any) (*workspace.Workspaces, error) {
	w, err := a.workspaces()
	if err == nil {
		err = c.into(q)
	}
	return w, err
}

// folder returns the working folder of a run: the folder of its workspace's project, or cwd.
func (o *Options) folder(ctx context.Context, slug, cwd string) (string, error) {
	switch {
	case slug == "":
		return cwd, nil
	case cwd != "":
		return "", refuse(outcome.Usage, "workspace and cwd cannot be used together", "omit cwd: the run works in the workspace's project")
	case o.Workspaces == nil:
		return "", notImplemented()
	}
	s, err := o.Workspaces.Get(ctx, slug)
	if err != nil {
		return "", err
	}
	return o.Workspaces.ProjectFolder(s), nil
}

func (a *service) listWorkspaces(c *call) error {
	return listAll(a, c, (*workspace.Workspaces).Overviews, apiWorkspace)
}

// listAll answers with a list from the workspaces, as one page.
func listAll[S, T any](a *service, c *call, list func(*workspace.Workspaces, context.Context) ([]S, error), show func(*S) T) error {
	w, err := a.workspaces()
	if err != nil {
		return err
	}
	all, err := list(w, c.ctx())
	if err != nil {
		return err
	}
	return c.json(api.Page[T]{Items: apiList(all, show)})
}

// onWorkspace calls the function do with the workspace in the path. Then it answers with the new
// state of the workspace.
func (a *service) onWorkspace(c *call, do func(ctx context.Context, w *workspace.Workspaces, slug string) error) error {
	w, err := a.workspaces()
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
	return c.json(apiWorkspace(o))
}

func (a *service) getWorkspace(c *call) error {
	return a.onWorkspace(c, func(context.Context, *workspace.Workspaces, string) error { return nil })
}

func (a *service) createWorkspace(c *call) error {
	var q routes.NewWorkspace
	w, err := a.decodeForWorkspaces(c, &q)
	if err != nil {
		return err
	}
	s := workspace.Settings{Slug: q.Slug}
	if err := applyPatch(&q.WorkspacePatch, &s); err != nil {
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
	return c.json(apiWorkspace(o))
}

func (a *service) patchWorkspace(c *call) error {
	var q routes.WorkspacePatch
	if err := c.into(&q); err != nil {
		return err
	}
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		_, err := w.Set(ctx, slug, func(s *workspace.Settings) error { return applyPatch(&q, s) })
		return err
	})
}

func (a *service) deleteWorkspace(c *call) error {
	w, err := a.workspaces()
	if err != nil {
		return err
	}
	slug := c.path("slug")
	result, err := w.Delete(c.ctx(), slug, &workspace.DeleteOptions{NoEngine: c.query["no_engine"] == "true"})
	if err != nil {
		return err
	}
	return c.json(routes.DeletedWorkspace{Deleted: slug, Entries: result.Entries, Sessions: result.Sessions, Notices: result.Notices})
}

func (a *service) startWorkspace(c *call) error {
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		made, err := w.Ensure(ctx, slug)
		if err != nil {
			return err
		}
		return made.Close()
	})
}

func (a *service) stopWorkspace(c *call) error {
	return a.onWorkspace(c, func(ctx context.Context, w *workspace.Workspaces, slug string) error {
		if _, err := w.Get(ctx, slug); err != nil {
			return err
		}
		return w.Stop(ctx, slug)
	})
}

func (a *service) workspaceUsage(c *call) error {
	w, err := a.workspaces()
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
	size := func(s workspace.Size) routes.WorkspaceSize {
		return routes.WorkspaceSize{Bytes: s.Bytes, Files: s.Files, Folders: s.Folders, Unread: s.Unreadable}
	}
	out := routes.WorkspaceUsage{Slug: slug, Home: size(u.Home), Bytes: u.Total().Bytes, Limit: u.Limit.String(), OverLimit: u.OverLimit()}
	if s.Project == "" {
		project := size(u.Project)
		out.Project = &project
	}
	return c.json(out)
}
