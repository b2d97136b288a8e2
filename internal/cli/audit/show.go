package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *showCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(p.Clock())
	if err != nil {
		return err
	}
	sessions, m, done, err := c.log(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	var list []audit.Entry
	damaged := false
	for e, err := range audit.Read(ctx, sessions, m.ID, o) {
		switch {
		case err != nil && !errors.Is(err, session.ErrCorrupt):
			return err
		case err != nil:
			damaged = true
			p.Warn("%v", err)
		case c.JSON:
			line, err := audit.Canonical(&e)
			if err != nil {
				return err
			}
			if err := p.Out.Bytes(append(term.EscapeJSON(string(line)), '\n')); err != nil {
				return err
			}
		default:
			list = append(list, e)
		}
	}
	if !c.JSON {
		printEntries(p, m, list)
	}
	if damaged {
		p.Err.Line("%s holdfast audit verify --session %s", p.Err.Bold("hint:"), term.Quote(m.ID))
		return command.End(outcome.Corrupt)
	}
	return nil
}

// log opens the selected log: a session's, or the access log.
func (c *showCmd) log(ctx context.Context, p *command.Program) (s *session.Sessions, m session.Meta, done func(), err error) {
	named := c.Session
	switch access, wrong := c.accesses(c.Access, c.Session); {
	case wrong != nil:
		return nil, m, nil, wrong
	case access:
		s, _, done, err = stores.OpenAccess(p.Environment())
		named = audit.AccessID
	default:
		s, done, err = p.OpenStore(ctx, c.Store)
	}
	if err != nil {
		return nil, m, nil, err
	}
	if m, err = findSession(ctx, s, named); err != nil {
		done()
	}
	return s, m, done, err
}

// printEntries prints entries as a table.
func printEntries(p *command.Program, m session.Meta, list []audit.Entry) {
	if len(list) == 0 {
		p.Err.Line("session %s has no matching audit entries", term.Escape(m.ID))
		return
	}
	t := p.Out.Style
	head := t.Dim(term.Column("session", 9)) + " " + term.Escape(m.ID)
	if by := list[len(list)-1].OnBehalfOf; by != "" {
		head += "  " + t.Dim("on behalf of") + " " + term.Escape(by)
	}
	p.Out.Line("%s", head)
	first, last := list[0].Time.Local(), list[len(list)-1].Time.Local()
	layout := time.TimeOnly
	if first.Format(time.DateOnly) != last.Format(time.DateOnly) {
		layout = "01-02 15:04"
	}
	p.Out.Line("%s %s", t.Dim(term.Column("day", 9)), first.Format(time.DateOnly))
	p.Out.Line("")
	rows := [][]string{{"SEQ", "TIME", "EVIDENCE", "BY", "WHAT", "OUTCOME"}}
	for i := range list {
		e := &list[i]
		rows = append(rows, []string{
			strconv.FormatInt(e.Seq, 10), e.Time.Local().Format(layout), e.Kind + " " + e.Action, term.Clip(term.OneLine(actorText(e.Actor)), 28), describe(e, m.CWD), outcomeText(e),
		})
	}
	p.Out.Table(rows, 4, 3)
}

// actorText returns the actor's name, without the project folder that prefixes hooks.
func actorText(a audit.Actor) string {
	if a.Kind == "hook" {
		a.Name = runtext.HookName(a.Name)
	}
	return a.String()
}

// describe returns what an entry is about, and its reason. A path in the session's folder is shown
// relative to that folder.
func describe(e *audit.Entry, cwd string) string {
	var words []string
	for _, w := range []string{e.Event, e.Tool} {
		if w != "" {
			words = append(words, w)
		}
	}
	for _, r := range e.Resources {
		if e.Kind == audit.KindAccess && (r.Operation == "scope" || r.Operation == "expires") {
			continue // --json has them
		}
		words = append(words, strings.TrimPrefix(r.Name, cwd+"/"))
	}
	if e.From != "" {
		words = append(words, "from "+e.From)
	}
	s := strings.Join(words, " ")
	if e.Mode != "" && e.Action == "mode" {
		s = e.Mode
	}
	if e.Reason != "" && (e.Action == "deny" || e.Action == "block" || e.Action == audit.ActionRefuse || s == "") {
		s = strings.TrimPrefix(s+": "+e.Reason, ": ")
	}
	return cmp.Or(term.OneLine(s), "-")
}

// outcomeText returns the outcome of an entry as text.
func outcomeText(e *audit.Entry) string {
	switch {
	case e.Erased:
		return "erased"
	case e.Kind == audit.KindPolicy && e.Action == "mode":
		return "-"
	case e.ExitCode != nil && *e.ExitCode != 0:
		return fmt.Sprintf("%s, exit %d", cmp.Or(e.Outcome, "-"), *e.ExitCode)
	case len(e.Changes) > 0:
		return fmt.Sprintf("%s, %s", cmp.Or(e.Outcome, "-"), term.Count(len(e.Changes), "file"))
	}
	return cmp.Or(e.Outcome, "-")
}
