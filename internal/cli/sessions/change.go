package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/rewind"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *renameCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		title, err := p.Environment().Mask(c.Title)
		if err != nil {
			return err
		}
		if err := s.Rename(ctx, m.ID, title); err != nil {
			return err
		}
		return printChanged(ctx, p, s, m.ID, c.JSON, fmt.Sprintf("session %s is now called %q", m.ID, title))
	})
}

func (c *tagCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		tag, err := p.Environment().Mask(c.Tag)
		if err != nil {
			return err
		}
		if err := s.Tag(ctx, m.ID, tag); err != nil {
			return err
		}
		return printChanged(ctx, p, s, m.ID, c.JSON, fmt.Sprintf("session %s is now tagged %q", m.ID, tag))
	})
}

func (c *relocateCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		cwd, err := p.Folder(c.CWD)
		if err != nil {
			return err
		}
		project, _, err := project.ID(cwd)
		if err != nil {
			return err
		}
		if err := s.Relocate(ctx, m.ID, cwd, project); err != nil {
			return err
		}
		return printChanged(ctx, p, s, m.ID, c.JSON, fmt.Sprintf("session %s now belongs to folder %s", m.ID, cwd))
	})
}

func (c *forkCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		id, err := c.fork(ctx, s, m)
		if err != nil {
			return err
		}
		if err := c.reportNotInherited(ctx, p, s, m); err != nil {
			return err
		}
		if !c.JSON {
			p.Out.Line("%s", id)
		}
		return printChanged(ctx, p, s, id, c.JSON, fmt.Sprintf("forked %s; continue with: holdfast run %s-r %s PROMPT", m.ID, command.StoreArg(c.Store), id))
	})
}

// fork forks the session at an item of the transcript, or at a turn or record in the syntax of
// [rewind.Find].
func (c *forkCmd) fork(ctx context.Context, s *session.Sessions, m session.Meta) (string, error) {
	o := session.ForkOptions{ID: c.ID, ItemIndex: c.Index, First: c.First, ItemID: c.Point, Title: c.Name, User: env.Account(), Grants: c.WithGrants}
	id, err := s.Fork(ctx, m.ID, &o)
	if c.Point == "" || !errors.Is(err, session.ErrInvalid) {
		return id, err
	}
	seq, notFound := rewind.Find(ctx, s, m.ID, c.Point)
	if notFound != nil {
		if isPoint(c.Point) {
			return "", notFound
		}
		return "", err // this error already names the nearest item
	}
	o.ItemID, o.Seq = "", seq
	return s.Fork(ctx, m.ID, &o)
}

// isPoint reports whether a text is the number of a record, or a turn such as turn:3.
func isPoint(s string) bool {
	_, err := strconv.ParseInt(strings.TrimPrefix(s, "turn:"), 10, 64)
	return err == nil
}

// reportNotInherited prints which decisions in the session do not apply to the fork.
func (c *forkCmd) reportNotInherited(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) error {
	if c.WithGrants {
		return nil
	}
	left, err := s.NotInheritedByFork(ctx, m.ID)
	if text := left.Notice(m.ID); text != "" {
		p.Err.Line("%s", text)
	}
	return err
}

func (c *deleteCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSessionOptions(ctx, p, c.Store, &stores.Options{Mirror: true}, func(s *session.Sessions, m session.Meta) error {
		if err := c.confirm(ctx, p, m); err != nil {
			return err
		}
		if err := s.DeleteFamily(ctx, m.ID); err != nil {
			return err
		}
		if c.JSON {
			return p.Out.JSON(map[string]any{"deleted": m.ID}, false)
		}
		p.Err.Line("deleted session %s", term.Escape(m.ID))
		return nil
	})
}

// confirm asks the user at the terminal. Without a terminal, --yes is required.
func (c *deleteCmd) confirm(ctx context.Context, p *command.Program, m session.Meta) error {
	if c.Yes {
		return nil
	}
	a := question.NewAsker(p)
	if a == nil {
		return outcome.Invalid("cannot ask for confirmation without a terminal", "holdfast sessions delete --yes "+term.Quote(m.ID))
	}
	defer a.Close()
	a.Out.Line("session %s  %s  %s", m.ID, term.Escape(term.Truncate(cmp.Or(m.Title, m.FirstPrompt), 60)), term.Count(m.MessageCount, "item"))
	ok, err := a.Yes(ctx, "delete it permanently?")
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was deleted", "")
}
