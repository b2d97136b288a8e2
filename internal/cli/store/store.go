package store

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

type copyResult struct {
	Sessions int       `json:"sessions"`
	Changed  int       `json:"changed"`
	Records  int64     `json:"records"`
	Bytes    int64     `json:"bytes"`
	Erased   int64     `json:"erased,omitempty"`
	Verified int64     `json:"verified"`
	DryRun   bool      `json:"dry_run,omitempty"`
	OK       bool      `json:"ok"`
	Faults   []copyDoc `json:"faults,omitempty"`
}

type copyDoc struct {
	Session string `json:"session"`
	Error   string `json:"error"`
	Hint    string `json:"hint,omitempty"`
}

func (c *copyCmd) Run(ctx context.Context, p *command.Program) error {
	if c.From == "" || c.To == "" || c.From == c.To {
		return outcome.Invalid("name a source and a destination store", "holdfast store copy sqlite:A file:B")
	}
	from, closeFrom, err := p.OpenStore(ctx, c.From)
	if err != nil {
		return err
	}
	defer closeFrom()
	to, closeTo, err := p.OpenStore(ctx, c.To)
	if err != nil {
		return err
	}
	defer closeTo()
	r, err := c.copy(ctx, p, from.Store(), to.Store())
	if printErr := c.print(p, r); printErr != nil {
		return printErr
	}
	if err != nil {
		return err
	}
	if len(r.Faults) > 0 {
		return fmt.Errorf("%s not copied: %w", term.Count(len(r.Faults), "session"), r.Faults[0].Err)
	}
	return nil
}

// copy copies the sessions, with a progress line on a terminal.
func (c *copyCmd) copy(ctx context.Context, p *command.Program, from, to session.Store) (*session.CopyReport, error) {
	var done atomic.Pointer[session.CopyReport]
	line := p.Err.Progress()
	line.Detail(func() string {
		r := done.Load()
		if r == nil {
			return ""
		}
		return fmt.Sprintf(": %d of %s, %s", r.Done, term.Count(r.Sessions, "session"), term.Size(r.Bytes))
	})
	line.Show("copying")
	defer func() {
		line.Show("")
		line.Detail(nil)
	}()
	copyTo := session.New(from, nil).ReplicateAll
	if c.DryRun {
		copyTo = session.New(from, nil).PreviewCopy
	}
	return copyTo(ctx, to, func(r session.CopyReport) {
		r.Faults = nil
		done.Store(&r)
	})
}

func (c *copyCmd) print(p *command.Program, r *session.CopyReport) error {
	if c.JSON {
		d := copyResult{
			Sessions: r.Sessions, Changed: r.Changed, Records: r.Records, Bytes: r.Bytes, Erased: r.Erased,
			Verified: r.Verified, DryRun: c.DryRun, OK: r.OK(),
		}
		for _, f := range r.Faults {
			d.Faults = append(d.Faults, copyDoc{f.Session, f.Err.Error(), session.Hint(f.Err)})
		}
		return p.Out.JSON(d, false)
	}
	for _, f := range r.Faults {
		p.Out.Line("%s  %s: %s", p.Out.Red("failed"), term.Escape(f.Session), term.Escape(f.Err.Error()))
		if h := session.Hint(f.Err); h != "" {
			p.Out.Line("        %s", p.Out.Dim("hint: "+h))
		}
	}
	does := "copied"
	if c.DryRun {
		does = "would be copied"
	}
	p.Out.Line("%s of %s %s: %d records, %s", term.Count(r.Changed, "session"), fmt.Sprint(r.Sessions), does, r.Records, term.Size(r.Bytes))
	if !c.DryRun {
		p.Out.Line("%d records were read back and are identical", r.Verified)
	}
	return nil
}
