package hooks

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

type trustDoc struct {
	Folder string     `json:"folder"`
	Digest string     `json:"digest,omitempty"`
	At     *time.Time `json:"at,omitempty"`
	Gains  []string   `json:"now_counts,omitempty"`

	Hooks []settings.TrustedHook `json:"hooks,omitempty"`
	Texts bool                   `json:"texts,omitempty"`

	foreign bool // true if settings of other programs in the folder are trusted
}

func (c *trustCmd) Run(ctx context.Context, p *command.Program) error {
	if c.HooksOnly {
		return (&trustHooksCmd{Dir: c.Dir, Yes: c.Yes, JSONFlag: c.JSONFlag}).Run(ctx, p)
	}
	if c.Yes {
		return outcome.Invalid("--yes needs --hooks-only: trusting a whole folder does not ask", "leave --yes out")
	}
	list, err := p.Trust()
	if err != nil {
		return err
	}
	if c.List {
		if c.Dir != "" {
			return outcome.Invalid("--list takes no folder", "")
		}
		return c.list(p, list)
	}
	if c.Revoke {
		return c.revoke(p, list)
	}
	s, err := p.FolderSettings(c.Dir)
	if err != nil {
		return err
	}
	ok, err := list.Add(s, p.Clock())
	if err != nil {
		return err
	}
	texts, err := tools.TrustTexts(p.Environment(), list, s)
	if err != nil {
		return err
	}
	if !ok && texts == nil {
		return outcome.Invalid(s.Project+" has no settings to trust", "create "+s.Project+"/.holdfast/settings.json or .claude/settings.json first")
	}
	trusted, err := p.FolderSettings(c.Dir)
	if err != nil {
		return err
	}
	hooks := folderHooks(trusted)
	d := trustDoc{Folder: s.Project, Hooks: trustedHooks(hooks), Gains: texts}
	for _, i := range s.Ignored {
		if i.Origin.Layer == layernames.Project || i.Origin.Layer == layernames.Local {
			d.Gains = append(d.Gains, i.Setting)
		}
	}
	if c.JSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	p.Err.Line("%s is trusted with its current settings", term.Escape(s.Project))
	for _, g := range d.Gains {
		p.Err.Line("  %s", term.Escape(g))
	}
	for _, h := range hooks {
		if h.Digest == "" {
			p.Warn("%s: this hook is not trusted: %s", settings.OriginText(h.Origin), h.Reason)
		}
	}
	showHooks(p, trusted, hooks)
	return nil
}

func (c *trustCmd) list(p *command.Program, list *settings.Trust) error {
	docs := []trustDoc{}
	for _, f := range list.List() {
		docs = append(docs, trustDoc{Folder: f.Folder, Digest: f.Digest, At: &f.TrustedAt, Hooks: f.Hooks, Texts: f.Texts, foreign: f.Foreign != ""})
	}
	if c.JSON {
		return p.Out.JSON(docs, p.Out.TTY)
	}
	for _, d := range docs {
		more := ""
		switch {
		case d.Digest == "" && d.foreign:
			more = "  (settings of other agents)"
		case d.Digest == "" && d.Texts:
			more = "  (instruction files)"
		case d.Digest == "":
			more = "  (" + term.Count(len(d.Hooks), "hook") + " only)"
		case len(d.Hooks) > 0:
			more = "  (with " + term.Count(len(d.Hooks), "hook") + ")"
		}
		p.Out.Line("%s  %s%s", d.At.Local().Format("2006-01-02 15:04"), term.Escape(d.Folder), p.Out.Dim(more))
	}
	if len(docs) == 0 {
		p.Err.Line("no folder is trusted")
	}
	return nil
}

// revoke removes a folder from the list of trusted folders, even if the folder no longer exists.
func (c *trustCmd) revoke(p *command.Program, list *settings.Trust) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	dir, err := p.FolderArg(c.Dir)
	if err != nil {
		return err
	}
	ok, err := list.Revoke(dir)
	if err == nil && !ok {
		if project, perr := settings.FindProject(dir, home); perr == nil {
			dir = project
			ok, err = list.Revoke(dir)
		}
	}
	if err != nil {
		return err
	}
	if !ok {
		return &outcome.Failure{Message: dir + " is not trusted", Advice: "list trusted folders with holdfast trust --list", Result: outcome.NotFound}
	}
	if c.JSON {
		return p.Out.JSON(trustDoc{Folder: dir}, p.Out.TTY)
	}
	p.Err.Line("%s is no longer trusted", term.Escape(dir))
	return nil
}
