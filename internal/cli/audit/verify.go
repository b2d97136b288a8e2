package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *verifyCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(ctx, p)
	if err != nil {
		return err
	}
	if c.Access {
		return c.access(ctx, p, o)
	}
	if _, err := stores.ExistingTrailDir(p.Environment(), c.Store, false); err != nil {
		return err
	}
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	var missing error
	if c.Session != "" {
		m, err := sessions.Find(ctx, c.Session)
		switch {
		case err == nil:
			o.Session = m.ID
		case errors.Is(err, session.ErrNotFound) && session.CheckID(c.Session) == nil:
			o.Session, missing = c.Session, err // the audit trail may still contain the session
		default:
			return err
		}
	}
	r, err := stores.Verify(ctx, p.Environment(), c.Store, sessions, o)
	if missing != nil && errors.Is(err, session.ErrNotFound) {
		err = missing
	}
	if err != nil {
		return err
	}
	return c.print(p, r)
}

// access verifies only the access log.
func (c *verifyCmd) access(ctx context.Context, p *command.Program, o *audit.VerifyOptions) error {
	if c.Session != "" {
		return outcome.Invalid("a session and --access cannot be used together", "")
	}
	r, err := stores.VerifyAccess(ctx, p.Environment(), o)
	if err != nil {
		return err
	}
	return c.print(p, r)
}

func (c *verifyCmd) print(p *command.Program, r *audit.Report) error {
	if c.JSON {
		if err := p.Out.JSON(r, p.Out.TTY); err != nil {
			return err
		}
	} else {
		printVerified(p, r)
	}
	if !r.OK {
		return command.End(outcome.Corrupt)
	}
	return nil
}

func (c *verifyCmd) options(ctx context.Context, p *command.Program) (*audit.VerifyOptions, error) {
	o := &audit.VerifyOptions{Key: c.Key}
	if c.Checkpoint != "" {
		b, err := readSignedNote(ctx, p, c.Checkpoint)
		if err != nil {
			return nil, err
		}
		if o.Checkpoint = b; len(b) == 0 {
			return nil, outcome.Invalid("the checkpoint file is empty", "create one with holdfast audit checkpoint")
		}
	}
	if b, err := readSignedNote(ctx, p, c.Key); err == nil && c.Key != "" && c.Key != "-" {
		o.Key = strings.TrimSpace(string(b))
	}
	return o, nil
}

// readSignedNote reads a small file, or standard input.
func readSignedNote(ctx context.Context, p *command.Program, name string) ([]byte, error) {
	const limit = 1 << 20
	if name == "-" {
		return io.ReadAll(io.LimitReader(p.Input(ctx), limit))
	}
	name, err := p.Path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, outcome.Invalid(err.Error(), "")
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// printVerified prints a report. For each session it prints the first finding and the number of
// further ones.
func printVerified(p *command.Program, d *audit.Report) {
	t := p.Out.Style
	first := map[string]int{}
	for i := range d.Findings {
		first[d.Findings[i].Session]++
	}
	printed := map[string]bool{}
	for _, f := range d.Findings {
		if printed[f.Session] {
			continue
		}
		printed[f.Session] = true
		more := ""
		if n := first[f.Session] - 1; n > 0 {
			more = t.Dim(fmt.Sprintf("  and %d more", n))
		}
		p.Out.Line("%s  %s%s", t.Red("bad"), term.Escape(term.OneLine(f.String())), more)
	}
	for _, n := range d.Notes {
		p.Err.Line("%s", p.Err.Dim("· "+term.Escape(term.OneLine(n))))
	}
	sum := fmt.Sprintf("%s, %s, %s", term.Count(d.Sessions, "session"), term.Count(d.Records, "record"), leafCount(d.Leaves))
	if d.Signed != "" {
		sum += ", checkpoint of " + d.Signed
	} else {
		sum += ", no checkpoint"
	}
	if a := d.Access; a != nil {
		sum += fmt.Sprintf("; access log: %s, %s", term.Count(a.Records, "record"), leafCount(a.Leaves))
	}
	if len(d.Findings) == 0 {
		p.Out.Line("%s: %s", t.Green("nothing was changed"), term.Escape(sum))
		return
	}
	p.Err.Line("%s in %s", term.Count(len(d.Findings), "finding"), term.Escape(sum))
	p.Err.Line("%s copy the store and the audit trail before you run anything else", p.Err.Bold("hint:"))
}

func leafCount(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}
