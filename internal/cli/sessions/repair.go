package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

type repairDoc struct {
	Session  string     `json:"session"`
	OK       bool       `json:"ok"` // there was nothing to repair, or the repair succeeded
	Rebuilt  bool       `json:"rebuilt,omitempty"`
	Cut      int64      `json:"cut_bytes,omitempty"`
	Kept     string     `json:"cut_kept_in,omitempty"`
	Faults   []faultDoc `json:"faults,omitempty"`
	Salvaged string     `json:"salvaged_as,omitempty"`
	Records  int        `json:"salvaged_records,omitempty"`
	DryRun   bool       `json:"dry_run,omitempty"`
	Error    string     `json:"error,omitempty"` // the reason why the session could not be checked
}

func (c *repairCmd) Run(ctx context.Context, p *command.Program) error {
	if c.All {
		if done, err := c.salvageDatabase(ctx, p); done || err != nil {
			return err
		}
	}
	return eachSession(ctx, p, c.Store, c.Session, c.All, "holdfast sessions repair --all", func(s *session.Sessions, m session.Meta) (bool, error) {
		d, err := c.repair(ctx, s, m)
		if err != nil && (!c.All || ctx.Err() != nil) {
			return false, err
		}
		if err != nil { // the other sessions can still be repaired
			d.Error, d.OK = err.Error(), false
		}
		return d.OK, c.print(p, d)
	})
}

// eachSession opens the store and calls the function do for one session or for all sessions. If the
// function do reports a damaged session, the outcome is Corrupt.
func eachSession(ctx context.Context, p *command.Program, store, name string, all bool, hint string, do func(*session.Sessions, session.Meta) (ok bool, err error)) error {
	if (name == "") != all {
		return outcome.Invalid("name a session, or use --all", hint)
	}
	sessions, closeStore, err := p.OpenStore(ctx, store)
	if err != nil {
		return err
	}
	defer closeStore()
	var list []session.Meta
	if all {
		page, err := sessions.List(ctx, session.Query{Worktrees: true, WithTrash: true})
		if err != nil {
			return err
		}
		list = page.Sessions
	} else {
		m, err := sessions.Find(ctx, name)
		if errors.Is(err, session.ErrCorrupt) { // the whole session is damaged, and the function do will report that
			m, err = session.Meta{ID: name}, nil
		}
		if err != nil {
			return err
		}
		list = []session.Meta{m}
	}
	bad := 0
	for _, m := range list {
		ok, err := do(sessions, m)
		if err != nil {
			return err
		}
		if !ok {
			bad++
		}
	}
	if !p.JSON && all {
		p.Err.Line("%s checked, %d damaged", term.Count(len(list), "session"), bad)
	}
	if bad > 0 {
		return command.End(outcome.Corrupt)
	}
	return nil
}

func (c *repairCmd) repair(ctx context.Context, s *session.Sessions, m session.Meta) (*repairDoc, error) {
	d := &repairDoc{Session: m.ID, DryRun: c.DryRun}
	r, err := s.Verify(ctx, m.ID)
	if err != nil {
		return d, err
	}
	d.OK = r.OK()
	for _, f := range r.Faults {
		d.Faults = append(d.Faults, faultDoc{f.Seq, f.Detail})
	}
	switch {
	case c.DryRun:
		return d, nil
	case len(r.Faults) > 0 && c.Salvage:
		var err error
		d.Salvaged, d.Records, _, err = s.Salvage(ctx, m.ID, "")
		d.OK = err == nil
		return d, err
	case len(r.Faults) > 0:
		return d, nil
	case r.MetaDiffers:
		if _, err := s.Rebuild(ctx, m.ID); err != nil {
			return d, err
		}
		d.Rebuilt, d.OK = true, true
	}
	return d, c.recover(ctx, s, m, d)
}

// recover opens the log as a run would. The store then cuts off an incomplete record at the end.
func (c *repairCmd) recover(ctx context.Context, s *session.Sessions, m session.Meta, d *repairDoc) error {
	if m.Trashed != "" {
		return nil
	}
	l, err := s.Open(ctx, m.ID, nil)
	if errors.Is(err, session.ErrBusy) {
		return nil // the lease holder has already repaired the session
	}
	if err != nil {
		return err
	}
	if rec := l.Recovery(); rec != nil {
		d.Cut, d.Kept = rec.CutBytes, rec.TailFile
	}
	return l.Close()
}

func (c *repairCmd) print(p *command.Program, d *repairDoc) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	t := p.Out.Style
	word := t.Green("ok      ")
	switch {
	case d.Salvaged != "":
		word = t.Green("salvaged")
	case !d.OK:
		word = t.Red("damaged ")
	case d.Rebuilt || d.Cut > 0:
		word = t.Green("repaired")
	}
	p.Out.Line("%s  %s", word, term.Escape(d.Session))
	for _, f := range d.Faults {
		p.Out.Line("          %s", faultLine(f))
	}
	if d.Error != "" {
		p.Out.Line("          %s", term.Escape(d.Error))
	}
	if d.Rebuilt {
		p.Out.Line("          the list data was recomputed from the log")
	}
	if d.Cut > 0 {
		p.Out.Line("          %s after the last record were cut off and saved in %s", term.Size(d.Cut), term.Escape(d.Kept))
	}
	switch {
	case d.Salvaged != "":
		p.Out.Line("          %s copied to session %s", term.Count(d.Records, "record"), d.Salvaged)
	case len(d.Faults) > 0:
		p.Err.Line("%s holdfast sessions repair --salvage %s", p.Err.Bold("hint:"), d.Session)
	}
	return nil
}

func faultLine(f faultDoc) string {
	if f.Seq == 0 {
		return term.Escape(f.Detail)
	}
	return fmt.Sprintf("seq %d: %s", f.Seq, term.Escape(f.Detail))
}
