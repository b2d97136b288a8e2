package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

type workspaceListDoc struct {
	Workspaces []workspace.Overview `json:"workspaces"`
}

func (c *listCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Names && c.JSON {
		return outcome.Invalid("--names and --json cannot be used together", "omit one of them")
	}
	return command.WithWorkspaces(p, func(w *workspace.Workspaces) error {
		if c.Names {
			list, err := w.List(ctx)
			for _, l := range list {
				p.Out.Line("%s", l.Slug)
			}
			return err
		}
		list, err := w.Overviews(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(workspaceListDoc{append([]workspace.Overview{}, list...)}, p.Out.TTY)
		}
		if len(list) == 0 {
			p.Err.Line("no workspaces")
			p.Err.Line("%s holdfast workspace create NAME --project FOLDER", p.Err.Bold("hint:"))
			return nil
		}
		rows := [][]string{{"WORKSPACE", "AGENT", "CONTAINER", "IMAGE", "NETWORK", "PROJECT"}}
		for i := range list {
			rows = append(rows, workspaceRow(&list[i]))
		}
		p.Out.Table(rows, 5, 3)
		printProblems(p, list)
		return nil
	})
}

func workspaceRow(o *workspace.Overview) []string {
	if o.Settings == nil {
		return []string{o.Slug, "-", "-", "-", "-", "(" + rootText(o.Err) + ")"}
	}
	return []string{
		o.Slug, o.Agent.Kind, stateWord(o), cmp.Or(o.Image, "(default)"), o.Network.Mode, cmp.Or(o.Project, "(its own)"),
	}
}

// stateWord returns the word for the state of a container.
func stateWord(o *workspace.Overview) string {
	c := o.Container
	switch {
	case c == nil:
		return "unknown"
	case c.State == "running" && c.Processes > 0:
		return fmt.Sprintf("running, %d busy", c.Processes)
	case c.State == "running" && c.Processes < 0:
		return "running, not responding"
	}
	return string(c.State)
}

// printProblems prints each problem once, below the table.
func printProblems(p *command.Program, list []workspace.Overview) {
	printed := map[string]bool{}
	for i := range list {
		o := &list[i]
		if o.Problem == "" || printed[o.Problem] {
			continue
		}
		printed[o.Problem] = true
		p.Warn("%s", o.Problem)
		if o.Hint != "" {
			p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(o.Hint))
		}
	}
}

// rootText returns the text of the sentinel error that a workspace error wraps.
func rootText(err error) string {
	if e, ok := errors.AsType[*workspace.Error](err); ok && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

func (c *showCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withWorkspaces(p, func(w *workspace.Workspaces) error {
		o, err := w.Overview(ctx, c.Slug)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(o, p.Out.TTY)
		}
		c.print(p, o)
		return c.sessions(ctx, p, o)
	})
}

func (c *showCmd) print(p *command.Program, o *workspace.Overview) {
	l := o.Limits
	facts := [][2]string{
		{"workspace", o.Slug},
		{"project", cmp.Or(o.Project, o.Folder+"/project (its own)")},
		{"folder", o.Folder},
		{"agent", agentWords(o.Agent)},
		{"model", cmp.Or(o.Model, "the agent's default")},
		{"image", cmp.Or(o.Image, workspace.DefaultImage+" (default)")},
		{"limits", fmt.Sprintf("memory %s, %v processors, %d processes, disk %s", l.Memory, l.CPUs, l.PIDs, l.Disk)},
		{"network", networkWords(o.Network)},
	}
	for _, m := range o.Mounts {
		rights := ""
		if m.ReadOnly {
			rights = ", read only"
		}
		facts = append(facts, [2]string{"mount", m.Host + " at " + m.Target + rights})
	}
	if len(o.Credentials) > 0 {
		facts = append(facts, [2]string{"credentials", strings.Join(o.Credentials, ", ")})
	}
	facts = append(facts, [2]string{"container", containerText(o)})
	facts = append(facts, [2]string{"created", o.Created.Local().Format("2006-01-02 15:04")})
	for _, f := range facts {
		p.Out.Line("%s %s", p.Out.Dim(term.Column(f[0], 12)), term.Escape(term.OneLine(f[1])))
	}
	printProblems(p, []workspace.Overview{*o})
}

func containerText(o *workspace.Overview) string {
	c := o.Container
	if c == nil {
		return "unknown"
	}
	words := []string{stateWord(o), c.Name}
	if c.Outdated {
		words = append(words, "settings changed; the container is recreated at the next use")
	}
	if c.Unconfined != "" {
		words = append(words, "sessions in it can reach each other: "+c.Unconfined)
	}
	return strings.Join(words, ", ")
}

// sessions lists the newest sessions of the workspace.
func (c *showCmd) sessions(ctx context.Context, p *command.Program, o *workspace.Overview) error {
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	page, err := sessions.List(ctx, session.Query{Project: o.SessionProject, Limit: 5})
	if err != nil {
		return err
	}
	for _, m := range page.Sessions {
		p.Out.Line("%s %s  %s  %s", p.Out.Dim(term.Column("session", 12)), term.Escape(m.ID), term.Age(p.Clock().Sub(m.UpdatedAt)), term.Truncate(cmp.Or(m.Title, m.FirstPrompt), 50))
	}
	if page.Next != "" {
		p.Out.Line("%s more: holdfast sessions list --workspace %s", p.Out.Dim(term.Column("", 12)), o.Slug)
	}
	return nil
}

type usageDoc struct {
	Slug      string          `json:"slug"`
	Home      *sizeDoc        `json:"home,omitempty"`
	Project   *sizeDoc        `json:"project,omitempty"`
	Bytes     int64           `json:"bytes"`
	Limit     workspace.Bytes `json:"limit"`
	OverLimit bool            `json:"over,omitempty"`
	Problem   string          `json:"problem,omitempty"`
}

type sizeDoc struct {
	Bytes  int64 `json:"bytes"`
	Files  int64 `json:"files"`
	Unread int64 `json:"unread_folders,omitempty"`
}

func (c *duCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Slug != "" {
		if err := workspace.CheckSlug(c.Slug); err != nil {
			return err
		}
	}
	return command.WithWorkspaces(p, func(w *workspace.Workspaces) error {
		docs, err := c.measure(ctx, p, w)
		if err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(struct {
				Workspaces []usageDoc `json:"workspaces"`
			}{docs}, p.Out.TTY)
		}
		if len(docs) == 0 {
			p.Err.Line("no workspaces")
			p.Err.Line("%s holdfast workspace create NAME --project FOLDER", p.Err.Bold("hint:"))
			return nil
		}
		rows := [][]string{{"WORKSPACE", "DISK", "FILES", "LIMIT", "HOME", "PROJECT"}}
		for _, d := range docs {
			rows = append(rows, d.row())
		}
		p.Out.Table(rows, 0)
		for _, d := range docs {
			if d.Problem != "" {
				p.Warn("%s: %s", d.Slug, d.Problem)
			}
		}
		return nil
	})
}

func (d *usageDoc) row() []string {
	if d.Home == nil {
		return []string{d.Slug, "?", "?", "?", "?", "?"}
	}
	files, project := d.Home.Files, "elsewhere"
	if d.Project != nil {
		files, project = files+d.Project.Files, term.Size(d.Project.Bytes)
	}
	disk := term.Size(d.Bytes)
	if d.OverLimit {
		disk += " (over)"
	}
	return []string{d.Slug, disk, fmt.Sprint(files), d.Limit.String(), term.Size(d.Home.Bytes), project}
}

func (c *duCmd) measure(ctx context.Context, p *command.Program, w *workspace.Workspaces) ([]usageDoc, error) {
	if c.Slug != "" {
		d, err := diskOf(ctx, w, c.Slug)
		return []usageDoc{d}, err
	}
	list, err := w.List(ctx)
	if err != nil {
		return nil, err
	}
	docs := []usageDoc{}
	for _, l := range list {
		p.Err.Progress().Show("measuring " + term.Escape(l.Slug))
		d, err := diskOf(ctx, w, l.Slug)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			d = usageDoc{Slug: l.Slug, Problem: err.Error()}
		}
		docs = append(docs, d)
	}
	p.Err.Progress().Show("")
	return docs, nil
}

func diskOf(ctx context.Context, w *workspace.Workspaces, slug string) (usageDoc, error) {
	u, err := w.Usage(ctx, slug)
	if err != nil {
		return usageDoc{}, err
	}
	s, err := w.Get(ctx, slug)
	if err != nil {
		return usageDoc{}, err
	}
	d := usageDoc{Slug: slug, Home: sizeOf(u.Home), Bytes: u.Total().Bytes, Limit: u.Limit, OverLimit: u.OverLimit()}
	if s.Project == "" {
		d.Project = sizeOf(u.Project)
	}
	if n := u.Total().Unreadable; n > 0 {
		d.Problem = term.Count(int(n), "folder") + " could not be read and are not counted"
	}
	return d, nil
}

func sizeOf(s workspace.Size) *sizeDoc {
	return &sizeDoc{Bytes: s.Bytes, Files: s.Files, Unread: s.Unreadable}
}
