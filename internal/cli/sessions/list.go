package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

type listDoc struct {
	Sessions []listedDoc `json:"sessions"`
	Next     string      `json:"next,omitempty"`
}

type listedDoc struct {
	session.Meta
	State  string          `json:"state"`
	Holder *session.Holder `json:"holder,omitempty"`
	Since  *time.Time      `json:"held_since,omitempty"`
}

func (c *listCmd) Run(ctx context.Context, p *command.Program) error {
	switch {
	case c.Limit < 0:
		return outcome.Invalid("--limit must not be negative", "")
	case c.Workspace != "" && (c.All || c.CWD != ""):
		return outcome.Invalid("--workspace cannot be used with --all or --cwd", "")
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	q := session.Query{Tag: c.Tag, Parent: c.Parent, Limit: c.Limit, After: c.Cursor, Worktrees: true, Unowned: !c.Agents}
	if c.Parent != "" {
		parent, err := sessions.Find(ctx, c.Parent)
		if err != nil {
			return err
		}
		q.Parent = parent.ID
	}
	if c.Trash {
		q.OnlyTrash = true
	}
	if q.Project, err = c.project(ctx, p); err != nil {
		return err
	}
	page, err := sessions.List(ctx, q)
	if err != nil {
		return err
	}
	asking, err := sessions.OpenApprovals(ctx)
	if err != nil {
		return err
	}
	doc := listDoc{Sessions: []listedDoc{}, Next: page.Next}
	for _, m := range page.Sessions {
		d := listedDoc{Meta: m}
		var lease *session.Lease
		if d.State, lease = runlog.State(ctx, sessions, m, asking); lease != nil {
			d.Holder, d.Since = &lease.Holder, &lease.Since
		}
		doc.Sessions = append(doc.Sessions, d)
	}
	if c.JSON {
		return p.Out.JSON(doc, p.Out.TTY)
	}
	short, err := command.ShortIDs(ctx, p, sessions)
	if err != nil {
		return err
	}
	c.table(p, doc, short)
	return nil
}

// project returns the project of the selected sessions; "" means any project.
func (c *listCmd) project(ctx context.Context, p *command.Program) (string, error) {
	if c.All {
		return "", nil
	}
	if c.Workspace != "" {
		in, err := command.OpenWorkspace(ctx, p, c.Workspace, "")
		if err != nil {
			return "", err
		}
		defer in.Close()
		return in.Settings.SessionProject(), nil
	}
	cwd, err := p.Folder(c.CWD)
	if err != nil {
		return "", err
	}
	project, _, err := project.ID(cwd)
	return project, err
}

func (c *listCmd) table(p *command.Program, doc listDoc, short func(string) string) {
	if len(doc.Sessions) == 0 {
		where := "here"
		if c.Trash {
			where = "of this project in the trash"
		}
		p.Err.Line("no sessions %s", where)
		if !c.All {
			p.Err.Line("%s holdfast sessions list --all", p.Err.Bold("hint:"))
		}
		return
	}
	rows := [][]string{{"SESSION", "TITLE", "ITEMS", "AGE", "BRANCH", "MODEL", "STATE"}}
	for _, d := range doc.Sessions {
		title := cmp.Or(d.Title, d.FirstPrompt)
		if d.Tag != "" {
			title = "[" + d.Tag + "] " + title
		}
		rows = append(rows, []string{
			short(d.ID), title, fmt.Sprint(d.MessageCount), term.Age(p.Clock().Sub(d.UpdatedAt)), cmp.Or(d.GitBranch, "-"), cmp.Or(d.Model, "-"), statusText(d),
		})
	}
	p.Out.Table(rows, 1)
	if doc.Next != "" {
		p.Err.Line("%s more: holdfast sessions list --cursor %s", p.Err.Dim("·"), term.Quote(doc.Next))
	}
}

func statusText(d listedDoc) string {
	if d.Holder == nil {
		return d.State
	}
	return fmt.Sprintf("%s (pid %d on %s)", d.State, d.Holder.PID, d.Holder.Host)
}
