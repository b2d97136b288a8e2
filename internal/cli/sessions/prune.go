package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/session/prune"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// pruneCmd is `holdfast sessions prune`.
type pruneCmd struct {
	OlderThan  string
	All        bool
	CWD        string
	Tag        string
	KeepTagged bool
	EmptyTrash bool
	DryRun     bool
	Yes        bool
	command.StoreFlags
	command.JSONFlag
}

func (c *pruneCmd) Declare(b *command.Builder) {
	b.Flag(&c.OlderThan, "older-than", "", "TIME", "What nobody changed for so long (30d, 12h), or since a day; default cleanupPeriodDays of your settings.")
	b.Flag(&c.All, "all", "a", "", "Sessions of all projects.")
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The project of this folder; default the current one.")
	b.Flag(&c.Tag, "tag", "", "TAG", "Only sessions with this tag.")
	b.Flag(&c.KeepTagged, "keep-tagged", "", "", "Keep sessions that have a tag.")
	b.Flag(&c.EmptyTrash, "empty-trash", "", "", "Delete for good what has been in the trash for so long.")
	b.Flag(&c.DryRun, "dry-run", "n", "", "Only say what would be done.")
	b.Flag(&c.Yes, "yes", "y", "", "Do not ask before deleting.")
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
}

// Help says more than one line.
func (c *pruneCmd) Help() string {
	return `Old sessions go to the trash, where nothing is lost: sessions list --trash shows them, and
sessions restore brings one back. With --empty-trash, what has been there for long is
deleted. What runs, or waits for an answer, stays. Nothing is pruned by itself, unless
cleanupPeriodDays in your settings.json says so to the daemon.

  holdfast sessions prune --older-than 90d --dry-run
  holdfast sessions prune --older-than 90d --all --keep-tagged
  holdfast sessions prune --older-than 30d --all --empty-trash`
}

type prunedDoc struct {
	Session string    `json:"session"`
	Title   string    `json:"title,omitempty"`
	Updated time.Time `json:"updated_at"`
	Bytes   int64     `json:"bytes"`
	Done    string    `json:"done"` // trashed, deleted, kept
	DryRun  bool      `json:"dry_run,omitempty"`
	Why     string    `json:"why,omitempty"`
}

func (c *pruneCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(p)
	if err != nil {
		return err
	}
	sessions, closeStore, err := p.OpenStoreWith(ctx, c.Store, &stores.Options{Mirror: true})
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
		if list[i].Kept == "" {
			bytes += list[i].Meta.Size
			done++
		}
		if err := c.tell(p, &list[i]); err != nil {
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
			p.Err.Line("%s holdfast sessions restore SESSION brings one back", p.Err.Dim("·"))
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
			return o, outcome.Invalid("how old is not said", "holdfast sessions prune --older-than 90d --dry-run")
		}
		text = fmt.Sprintf("%dd", days)
	}
	var err error
	if o.Before, err = command.ReadTime("--older-than", text, p.Now()); err != nil {
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
		if list[i].Kept == "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	a := question.NewAsker(p)
	if a == nil {
		return outcome.Invalid("deleting needs a yes, and nobody is at a terminal to say it", "add --yes, or look first with --dry-run")
	}
	defer a.Close()
	ok, err := a.Yes(ctx, fmt.Sprintf("delete %s for good?", term.Count(n, "session")))
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was deleted", "")
}

func (c *pruneCmd) tell(p *command.Program, f *prune.Session) error {
	d := prunedDoc{Session: f.Meta.ID, Title: cmp.Or(f.Meta.Title, f.Meta.FirstPrompt), Updated: f.Meta.UpdatedAt, Bytes: f.Meta.Size, Why: f.Kept, Done: c.verb(), DryRun: c.DryRun}
	if f.Kept != "" {
		d.Done = "kept"
	}
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	word := d.Done
	if c.DryRun && f.Kept == "" {
		word = "would be " + word
	}
	line := fmt.Sprintf("%s  %s  %s  %s", word, term.Escape(d.Session), term.Age(p.Now().Sub(d.Updated)), term.Fit(term.Escape(d.Title), 60))
	if d.Why != "" {
		line += "  (" + term.Escape(d.Why) + ")"
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

// restoreCmd is `holdfast sessions restore`.
type restoreCmd struct {
	flags.SessionArg
	command.StoreFlags
	command.JSONFlag
}

func (c *restoreCmd) Declare(b *command.Builder) {
	b.Include(&c.SessionArg)
	b.Include(&c.StoreFlags)
	b.Include(&c.JSONFlag)
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
	return printChanged(ctx, p, sessions, m.ID, c.JSON, "session "+m.ID+" is out of the trash")
}
