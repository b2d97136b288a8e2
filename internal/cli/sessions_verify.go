package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// verifyCmd is `holdfast sessions verify`.
type verifyCmd struct {
	Session string `arg:"" optional:"" placeholder:"SESSION" help:"An id, a title, or the beginning of an id."`
	All     bool   `short:"a" help:"Every session of the store."`
	Rebuild bool   `help:"Put right what the list shows, where it differs from the log."`
	storeFlags
	jsonFlag
}

type verifyDoc struct {
	Session     string     `json:"session"`
	OK          bool       `json:"ok"`
	Records     int        `json:"records"`
	Erased      int        `json:"erased,omitempty"`
	Items       int        `json:"items"`
	MetaDiffers bool       `json:"meta_differs,omitempty"`
	Rebuilt     bool       `json:"rebuilt,omitempty"`
	Faults      []faultDoc `json:"faults,omitempty"`
	Notices     []string   `json:"notices,omitempty"`
}

type faultDoc struct {
	Seq    int64  `json:"seq,omitempty"`
	Detail string `json:"detail"`
}

func (c *verifyCmd) run(ctx context.Context, p *Program) error {
	if (c.Session == "") != c.All {
		return usage("name a session, or say --all", "holdfast sessions verify --all")
	}
	sessions, closeStore, err := p.openStore(c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	var list []session.Meta
	if c.All {
		page, err := sessions.List(ctx, session.Query{Worktrees: true, Trash: session.TrashToo})
		if err != nil {
			return err
		}
		list = page.Sessions
	} else {
		m, err := sessions.Find(ctx, c.Session)
		if err != nil {
			return err
		}
		list = []session.Meta{m}
	}
	bad := 0
	for _, m := range list {
		d, err := c.verify(ctx, sessions, m.ID)
		if err != nil {
			return err
		}
		if !d.OK {
			bad++
		}
		if err := c.tell(p, d); err != nil {
			return err
		}
	}
	if !c.JSON && c.All {
		p.err.line("%s checked, %d damaged", count(len(list), "session"), bad)
	}
	if bad > 0 {
		return ended{outcome.Corrupt}
	}
	return nil
}

func (c *verifyCmd) verify(ctx context.Context, s *session.Sessions, id string) (verifyDoc, error) {
	r, err := s.Verify(ctx, id)
	if err != nil {
		return verifyDoc{}, err
	}
	d := verifyDoc{Session: id, OK: r.OK(), Records: r.Records, Erased: r.Erased, Items: r.Items, MetaDiffers: r.MetaDiffers, Notices: r.Notices}
	for _, f := range r.Faults {
		d.Faults = append(d.Faults, faultDoc{f.Seq, f.Detail})
	}
	if c.Rebuild && r.MetaDiffers {
		if _, err := s.Rebuild(ctx, id); err != nil {
			return d, err
		}
		d.Rebuilt, d.OK = true, len(r.Faults) == 0
	}
	return d, nil
}

func (c *verifyCmd) tell(p *Program, d verifyDoc) error {
	if c.JSON {
		return p.out.json(d, false)
	}
	t := p.out.term
	word := t.green("ok     ")
	if !d.OK {
		word = t.red("damaged")
	}
	p.out.line("%s  %s  %s, %s", word, shown(d.Session), count(d.Records, "record"), count(d.Items, "item"))
	for _, f := range d.Faults {
		where := ""
		if f.Seq != 0 {
			where = fmt.Sprintf("seq %d: ", f.Seq)
		}
		p.out.line("         %s%s", where, shown(f.Detail))
	}
	switch {
	case d.Rebuilt:
		p.out.line("         what the list shows was rebuilt from the log")
	case d.MetaDiffers:
		p.out.line("         the list does not show what the log says")
		p.err.line("%s holdfast sessions verify --rebuild %s", p.err.term.bold("hint:"), d.Session)
	}
	for _, n := range d.Notices {
		p.out.line("         %s", t.dim(shown(n)))
	}
	return nil
}

func isCorrupt(err error) bool { return errors.Is(err, session.ErrCorrupt) }
