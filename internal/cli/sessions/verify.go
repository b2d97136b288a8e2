package sessions

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

type verifyDoc struct {
	Session     string     `json:"session"`
	OK          bool       `json:"ok"`
	Records     int        `json:"records"`
	Erased      int        `json:"erased,omitempty"`
	Items       int        `json:"items"`
	MetaDiffers bool       `json:"meta_differs,omitempty"`
	Faults      []faultDoc `json:"faults,omitempty"`
	Notices     []string   `json:"notices,omitempty"`
}

type faultDoc struct {
	Seq    int64  `json:"seq,omitempty"`
	Detail string `json:"detail"`
}

func (c *verifyCmd) Run(ctx context.Context, p *command.Program) error {
	return eachSession(ctx, p, c.Store, c.Session, c.All, "holdfast sessions verify --all", func(s *session.Sessions, m session.Meta) (bool, error) {
		d, err := c.verify(ctx, s, m.ID)
		if err != nil {
			return false, err
		}
		return d.OK, c.print(p, d)
	})
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
	return d, nil
}

func (c *verifyCmd) print(p *command.Program, d verifyDoc) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	t := p.Out.Style
	word := t.Green("ok     ")
	if !d.OK {
		word = t.Red("damaged")
	}
	p.Out.Line("%s  %s  %s, %s", word, term.Escape(d.Session), term.Count(d.Records, "record"), term.Count(d.Items, "item"))
	for _, f := range d.Faults {
		p.Out.Line("         %s", faultLine(f))
	}
	if d.MetaDiffers {
		p.Out.Line("         the list data differs from the log")
	}
	if !d.OK {
		p.Err.Line("%s holdfast sessions repair %s", p.Err.Bold("hint:"), d.Session)
	}
	for _, n := range d.Notices {
		p.Out.Line("         %s", t.Dim(term.Escape(n)))
	}
	return nil
}
