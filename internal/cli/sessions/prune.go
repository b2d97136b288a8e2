package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/session/prune"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type prunedDoc struct {
	Session string    `json:"session"`
	Title   string    `json:"title,omitempty"`
	Updated time.Time `json:"updated_at"`
	Bytes   int64     `json:"bytes"`
	Action  string    `json:"done"` // trashed, deleted, kept
	DryRun  bool      `json:"dry_run,omitempty"`
	Reason  string    `json:"why,omitempty"`
}

func (c *pruneCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(p)
	if err != nil {
		return err
	}
	sessions, closeStore, err := p.OpenStoreOptions(ctx, c.Store, &stores.Options{Mirror: true})
	if err != nil {
		return err
	}
	defer closeStore()
	list, err := prune.Find(ctx, sessions, o)
	if err != nil {
		return err
	}
	if err := c.confirm(ctx, p, list); err != nil {
		return err
	}
	var bytes int64
	done := 0
	for i := range list {
		if !c.DryRun {
			if err := list[i].Remove(ctx, sessions, o); err != nil {
				return err
			}
		}
		if list[i].KeptReason == "" {
			bytes += list[i].Meta.Size
			done++
		}
		if err := c.print(p, &list[i]); err != nil {
			return err
		}
	}
	dry := ""
	if c.DryRun {
		dry = "would have "
	}
	if c.EmptyTrash && !c.DryRun {
		if err := sessions.Sweep(ctx); err != nil {
			return err
		}
	}
	if !c.JSON {
		p.Err.Line("%s%s %s, %s", dry, c.verb(), term.Count(done, "session"), term.Size(bytes))
		if done > 0 && !c.EmptyTrash && !c.DryRun {
			p.Err.Line("%s restore one with holdfast sessions restore SESSION", p.Err.Dim("·"))
		}
	}
	return nil
}

func (c *pruneCmd) options(p *command.Program) (prune.Options, error) {
	o := prune.Options{Tag: c.Tag, KeepTagged: c.KeepTagged, Empty: c.EmptyTrash}
	text := c.OlderThan
	if text == "" {
		days, err := p.Environment().CleanupDays()
		if err != nil {
			return o, err
		}
		if days == 0 {
			return o, outcome.Invalid("--older-than is missing", "holdfast sessions prune --older-than 90d --dry-run")
		}
		text = fmt.Sprintf("%dd", days)
	}
	var err error
	if o.Before, err = command.ReadTime("--older-than", text, p.Clock()); err != nil {
		return o, err
	}
	if c.All {
		return o, nil
	}
	cwd, err := p.Folder(c.CWD)
	if err != nil {
		return o, err
	}
	o.Project, _, err = project.ID(cwd)
	return o, err
}

// confirm asks before anything is deleted.
func (c *pruneCmd) confirm(ctx context.Context, p *command.Program, list []prune.Session) error {
	if !c.EmptyTrash || c.Yes || c.DryRun {
		return nil
	}
	n := 0
	for i := range list {
		if list[i].KeptReason == "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	a := question.NewAsker(p)
	if a == nil {
		return outcome.Invalid("cannot ask for confirmation without a terminal", "add --yes, or look first with --dry-run")
	}
	defer a.Close()
	ok, err := a.Yes(ctx, fmt.Sprintf("permanently delete %s?", term.Count(n, "session")))
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was deleted", "")
}

func (c *pruneCmd) print(p *command.Program, f *prune.Session) error {
	d := prunedDoc{Session: f.Meta.ID, Title: cmp.Or(f.Meta.Title, f.Meta.FirstPrompt), Updated: f.Meta.UpdatedAt, Bytes: f.Meta.Size, Reason: f.KeptReason, Action: c.verb(), DryRun: c.DryRun}
	if f.KeptReason != "" {
		d.Action = "kept"
	}
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	word := d.Action
	if c.DryRun && f.KeptReason == "" {
		word = "would be " + word
	}
	line := fmt.Sprintf("%s  %s  %s  %s", word, term.Escape(d.Session), term.Age(p.Clock().Sub(d.Updated)), term.Truncate(term.Escape(d.Title), 60))
	if d.Reason != "" {
		line += "  (" + term.Escape(d.Reason) + ")"
	}
	p.Out.Line("%s", line)
	return nil
}

func (c *pruneCmd) verb() string {
	if c.EmptyTrash {
		return "deleted"
	}
	return "trashed"
}

func (c *restoreCmd) Run(ctx context.Context, p *command.Program) error {
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	m, err := sessions.FindTrashed(ctx, c.Session)
	if err != nil {
		return err
	}
	if err := sessions.Untrash(ctx, m.ID); err != nil {
		return err
	}
	return printChanged(ctx, p, sessions, m.ID, c.JSON, "session "+m.ID+" was restored from the trash")
}
