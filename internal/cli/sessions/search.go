package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *searchCmd) Run(ctx context.Context, p *command.Program) error {
	if c.Limit < 1 {
		return outcome.Invalid("--limit must be at least 1", "")
	}
	q := session.Search{Words: quotePhrase(c.Words), Tool: c.Tool, Role: c.Role, Limit: c.Limit, After: c.Cursor}
	var err error
	if q.Since, err = command.ReadTime("--since", c.Since, p.Clock()); err != nil {
		return err
	}
	if q.Until, err = command.ReadTime("--until", c.Until, p.Clock()); err != nil {
		return err
	}
	if c.Trash {
		q.WithTrash = true
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	switch {
	case c.Session != "":
		m, err := sessions.Find(ctx, c.Session)
		if err != nil {
			return err
		}
		q.Session, q.WithTrash = m.ID, true
	case !c.All:
		cwd, err := p.Folder(c.CWD)
		if err != nil {
			return err
		}
		if q.Project, _, err = project.ID(cwd); err != nil {
			return err
		}
	}
	ref, err := stores.Parse(p.Environment(), c.Store)
	if err != nil {
		return err
	}
	found, err := stores.Search(ctx, p.Environment(), ref, sessions.Store(), q, c.PlainIndex)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(found, p.Out.TTY)
	}
	c.print(p, found)
	return nil
}

// quotePhrase joins arguments. An argument with a space was quoted in the shell, so it is searched
// for as a phrase.
func quotePhrase(args []string) string {
	var b strings.Builder
	for _, a := range args {
		if strings.ContainsAny(a, " \t\n") && !strings.Contains(a, `"`) {
			a = `"` + a + `"`
		}
		b.WriteString(a + " ")
	}
	return b.String()
}

func (c *searchCmd) print(p *command.Program, found *session.Hits) {
	if len(found.Hits) == 0 {
		p.Err.Line("nothing found")
		if !c.All && c.Session == "" {
			p.Err.Line("%s holdfast sessions search --all %s", p.Err.Bold("hint:"), term.Quote(strings.TrimSpace(quotePhrase(c.Words))))
		}
		return
	}
	t := p.Out.Style
	last := ""
	for i := range found.Hits {
		h := &found.Hits[i]
		if h.Session != last {
			last = h.Session
			p.Out.Line("%s  %s", t.Bold(term.Escape(h.Session)), term.Truncate(term.Escape(h.Title), 80))
		}
		who := h.Role
		if h.Tool != "" {
			who = h.Tool
		}
		p.Out.Line("  %s  %s  %s", t.Dim(fmt.Sprintf("%6d  %s", h.Seq, h.Time.Local().Format("2006-01-02 15:04"))), term.Column(term.Escape(who), 9), highlight(h, t))
	}
	if found.Next != "" {
		p.Err.Line("%s more: --cursor %s", p.Err.Dim("·"), term.Quote(found.Next))
	}
}

// highlight returns an excerpt with the matching words in bold.
func highlight(h *session.Hit, t term.Style) string {
	var b strings.Builder
	at := 0
	for _, m := range h.Marks {
		if m[0] < at || m[1] > len(h.Excerpt) {
			continue
		}
		b.WriteString(term.Escape(h.Excerpt[at:m[0]]) + t.Bold(term.Escape(h.Excerpt[m[0]:m[1]])))
		at = m[1]
	}
	return b.String() + term.Escape(h.Excerpt[at:])
}
