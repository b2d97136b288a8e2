package workspace

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

type deletedDoc struct {
	Deleted  string   `json:"deleted"`
	Entries  int64    `json:"entries"`
	Sessions int      `json:"sessions_told"`
	Notices  []string `json:"notices,omitempty"`
}

func (c *deleteCmd) Run(ctx context.Context, p *command.Program) error {
	if err := workspace.CheckSlug(c.Slug); err != nil {
		return err
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	w, err := command.OpenWorkspaces(p, sessions)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := c.confirm(ctx, p, w, sessions); err != nil {
		return err
	}
	p.Err.Progress().Show("deleting " + term.Escape(c.Slug))
	gone, err := w.Delete(ctx, c.Slug, &workspace.DeleteOptions{NoEngine: c.NoEngine})
	p.Err.Progress().Show("")
	if err != nil {
		if errors.Is(err, workspace.ErrNoEngine) {
			return &outcome.Failure{Message: err.Error(), Advice: "start the engine; if it no longer exists: holdfast workspace delete --no-engine " + c.Slug, Result: outcome.NoEngine, Cause: err}
		}
		return err
	}
	if c.JSON {
		return p.Out.JSON(deletedDoc{c.Slug, gone.Entries, gone.Sessions, gone.Notices}, p.Out.TTY)
	}
	for _, n := range gone.Notices {
		p.Warn("%s", n)
	}
	p.Err.Line("deleted workspace %s: %s; recorded in %s", c.Slug, entries(gone.Entries), term.Count(gone.Sessions, "session"))
	return nil
}

func entries(n int64) string {
	if n == 1 {
		return "1 file or folder"
	}
	return fmt.Sprintf("%d files and folders", n)
}

// confirm shows what will be deleted and asks. Without a terminal, --yes is required.
func (c *deleteCmd) confirm(ctx context.Context, p *command.Program, w *workspace.Workspaces, sessions *session.Sessions) error {
	s, err := w.Get(ctx, c.Slug)
	if errors.Is(err, workspace.ErrNotFound) {
		return err
	}
	if c.Yes {
		return nil
	}
	a := question.NewAsker(p)
	if a == nil {
		return outcome.Invalid("cannot ask for confirmation without a terminal", "holdfast workspace delete --yes "+c.Slug)
	}
	defer a.Close()
	if err != nil { // a damaged or half-deleted workspace can be deleted, too
		a.Out.Line("workspace %s: %s", c.Slug, term.Escape(term.OneLine(err.Error())))
	} else {
		c.describe(ctx, a.Out, w, s)
		if page, err := sessions.List(ctx, session.Query{Project: s.SessionProject(), Limit: 500, WithTrash: true}); err == nil && len(page.Sessions) > 0 {
			a.Out.Line("  keep    %s", term.Count(len(page.Sessions), "session"))
		}
	}
	ok, err := a.Yes(ctx, "delete it permanently?")
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was deleted", "")
}

// describe prints what will be deleted and what will be kept.
func (c *deleteCmd) describe(ctx context.Context, out *term.Printer, w *workspace.Workspaces, s *workspace.Settings) {
	home, project := "", ""
	if u, err := w.Usage(ctx, c.Slug); err == nil {
		home = ": " + entries(u.Home.Files+u.Home.Folders) + ", " + term.Size(u.Home.Bytes)
		project = ": " + entries(u.Project.Files+u.Project.Folders) + ", " + term.Size(u.Project.Bytes)
	}
	out.Line("workspace %s", c.Slug)
	if state, err := w.ContainerState(ctx, c.Slug); err == nil && state.State != workspace.Absent {
		busy := ""
		if state.Processes > 0 {
			busy = ", " + term.Count(state.Processes, "process") + " in it"
		}
		out.Line("  delete  container %s (%s%s)", state.Name, state.State, busy)
	}
	out.Line("  delete  home of its agents%s", home)
	if s.Project == "" {
		out.Line("  delete  project%s", project)
	} else {
		out.Line("  keep    project %s", term.Escape(s.Project))
	}
}
