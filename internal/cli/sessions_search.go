package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// searchCmd is `holdfast sessions search`.
type searchCmd struct {
	Words      []string `arg:"" placeholder:"WORDS" help:"All of them must be in one item; \"a phrase\" stands together, dep* is the beginning of a word."`
	Tool       string   `placeholder:"TOOL" help:"Only in uses and results of this tool."`
	Role       string   `enum:",user,assistant,tool" default:"" placeholder:"ROLE" help:"Only in items of user, assistant or tool."`
	Since      string   `placeholder:"TIME" help:"Only from then on: 2026-11-20, 2026-11-20T15:04:05Z, or 2h, 7d ago."`
	Until      string   `placeholder:"TIME" help:"Only before then."`
	Session    string   `short:"s" placeholder:"SESSION" help:"Only in this session."`
	All        bool     `short:"a" help:"Sessions of all projects."`
	CWD        string   `name:"cwd" placeholder:"FOLDER" help:"The project of this folder; default the current one."`
	Trash      bool     `help:"In the trash, too."`
	Limit      int      `short:"n" default:"20" placeholder:"N" help:"At most this many; default 20."`
	Cursor     string   `placeholder:"CURSOR" help:"Go on where a search ended."`
	PlainIndex bool     `help:"Search an encrypted store, too: the index that is made for that holds its words as they are."`
	storeFlags
	jsonFlag
}

// Help says more than one line.
func (c *searchCmd) Help() string {
	return `Case and accents do not count, and nothing but quotes and a * at the end of a word has a
meaning. Hits come newest first, with the number of the record:
holdfast sessions show --records SESSION shows what is around it.

  holdfast sessions search "no such file" --tool Bash --since 7d
  holdfast sessions search --all 'deploy*' staging`
}

func (c *searchCmd) run(ctx context.Context, p *Program) error {
	if c.Limit < 1 {
		return usage("--limit must be at least 1", "")
	}
	q := session.Search{Words: phrase(c.Words), Tool: c.Tool, Role: c.Role, Limit: c.Limit, After: c.Cursor}
	var err error
	if q.Since, err = readTime("--since", c.Since, p.Now()); err != nil {
		return err
	}
	if q.Until, err = readTime("--until", c.Until, p.Now()); err != nil {
		return err
	}
	if c.Trash {
		q.Trash = session.TrashToo
	}
	sessions, closeStore, err := p.openStore(ctx, c.Store)
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
		q.Session, q.Trash = m.ID, session.TrashToo
	case !c.All:
		cwd, err := p.folder(c.CWD)
		if err != nil {
			return err
		}
		if q.Project, _, err = session.ProjectID(cwd); err != nil {
			return err
		}
	}
	ref, err := stores.Parse(p.environment(), c.Store)
	if err != nil {
		return err
	}
	found, err := stores.Search(ctx, p.environment(), ref, sessions.Store(), q, c.PlainIndex)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.out.JSON(found, p.out.TTY)
	}
	c.tell(p, found)
	return nil
}

// phrase joins arguments: one with a space in it was quoted for the shell, and is meant
// to stand together.
func phrase(args []string) string {
	var b strings.Builder
	for _, a := range args {
		if strings.ContainsAny(a, " \t\n") && !strings.Contains(a, `"`) {
			a = `"` + a + `"`
		}
		b.WriteString(a + " ")
	}
	return b.String()
}

func (c *searchCmd) tell(p *Program, found *session.Hits) {
	if len(found.Hits) == 0 {
		p.err.Line("nothing found")
		if !c.All && c.Session == "" {
			p.err.Line("%s holdfast sessions search --all %s", p.err.Bold("hint:"), term.Quote(strings.TrimSpace(phrase(c.Words))))
		}
		return
	}
	t := p.out.Style
	last := ""
	for i := range found.Hits {
		h := &found.Hits[i]
		if h.Session != last {
			last = h.Session
			p.out.Line("%s  %s", t.Bold(term.Escape(h.Session)), term.Fit(term.Escape(h.Title), 80))
		}
		who := h.Role
		if h.Tool != "" {
			who = h.Tool
		}
		p.out.Line("  %s  %s  %s", t.Dim(fmt.Sprintf("%6d  %s", h.Seq, h.Time.Local().Format("2006-01-02 15:04"))), term.Column(term.Escape(who), 9), marked(h, t))
	}
	if found.Next != "" {
		p.err.Line("%s more: --cursor %s", p.err.Dim("·"), term.Quote(found.Next))
	}
}

// marked is an excerpt with its words made bold.
func marked(h *session.Hit, t term.Style) string {
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
