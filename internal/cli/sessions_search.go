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
	Words      []string
	Tool       string
	Role       string
	Since      string
	Until      string
	Session    string
	All        bool
	CWD        string
	Trash      bool
	Limit      int
	Cursor     string
	PlainIndex bool
	storeFlags
	jsonFlag
}

func (c *searchCmd) declare(b *builder) {
	b.arg(&c.Words, "words", `All of them must be in one item; "a phrase" stands together, dep* is the beginning of a word.`)
	b.flag(&c.Tool, "tool", "", "TOOL", "Only in uses and results of this tool.")
	b.flag(&c.Role, "role", "", "ROLE", "Only in items of user, assistant or tool.", "user", "assistant", "tool")
	b.flag(&c.Since, "since", "", "TIME", "Only from then on: 2026-11-20, 2026-11-20T15:04:05Z, or 2h, 7d ago.")
	b.flag(&c.Until, "until", "", "TIME", "Only before then.")
	b.flag(&c.Session, "session", "s", "SESSION", "Only in this session.")
	b.flag(&c.All, "all", "a", "", "Sessions of all projects.")
	b.flag(&c.CWD, "cwd", "", "FOLDER", "The project of this folder; default the current one.")
	b.flag(&c.Trash, "trash", "", "", "In the trash, too.")
	c.Limit = 20
	b.flag(&c.Limit, "limit", "n", "N", "At most this many; default 20.")
	b.flag(&c.Cursor, "cursor", "", "CURSOR", "Go on where a search ended.")
	b.flag(&c.PlainIndex, "plain-index", "", "", "Search an encrypted store, too: the index that is made for that holds its words as they are.")
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
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
