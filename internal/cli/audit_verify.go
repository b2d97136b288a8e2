package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/audit"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// auditVerifyCmd is `holdfast audit verify`.
type auditVerifyCmd struct {
	Session    string `placeholder:"SESSION" help:"This one only; default every session of the store."`
	Checkpoint string `placeholder:"FILE" help:"A checkpoint that was kept elsewhere; the trail must go on from it. - is standard input."`
	Key        string `placeholder:"KEY" help:"The verifier key that checkpoints must be signed with, or a file with it; default the trail's own."`
	storeFlags
	jsonFlag
}

// Help says more than one line.
func (c *auditVerifyCmd) Help() string {
	return `Every record is compared with its digest and the one before it, every log with the audit
trail, and that with its signed checkpoints. So a changed, removed, added or swapped record
is found, also when the digests were made anew, and an end that was cut off. The first bad
record of each session is printed, and the exit code is 8; --json has them all.

A checkpoint that was kept elsewhere finds also what somebody did who holds the trail's key:

  holdfast audit checkpoint >checkpoint-$(date +%F)
  holdfast audit verify --checkpoint checkpoint-2026-11-20`
}

// auditDoc is a report in JSON.
type auditDoc struct {
	OK         bool            `json:"ok"`
	Sessions   int             `json:"sessions"`
	Records    int             `json:"records"`
	Leaves     int             `json:"leaves"`
	Checkpoint int             `json:"checkpoint"`
	Signed     string          `json:"signed,omitempty"`
	Key        string          `json:"key,omitempty"`
	Trail      string          `json:"trail"`
	Findings   []audit.Finding `json:"findings"`
	Notes      []string        `json:"notes"`
}

func (c *auditVerifyCmd) run(ctx context.Context, p *Program) error {
	o, err := c.options(ctx, p)
	if err != nil {
		return err
	}
	dir, err := p.recorded(c.Store, false)
	if err != nil {
		return err
	}
	sessions, closeStore, err := p.openStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	if c.Session != "" {
		switch m, err := sessions.Find(ctx, c.Session); {
		case err == nil:
			o.Session = m.ID
		case errors.Is(err, session.ErrNotFound) && session.CheckID(c.Session) == nil && p.witnessed(ctx, sessions, dir, c.Session):
			o.Session = c.Session // it is gone, which is what there is to find
		default:
			return err
		}
	}
	r, err := audit.Verify(ctx, sessions, dir, o)
	if err != nil {
		return err
	}
	if c.JSON {
		err = p.out.json(reportDoc(r, dir), p.out.term.tty)
	} else {
		p.verified(r)
	}
	if err == nil && len(r.Findings) > 0 {
		err = ended{outcome.Corrupt}
	}
	return err
}

func reportDoc(r *audit.Report, dir string) auditDoc {
	return auditDoc{
		OK: len(r.Findings) == 0, Sessions: r.Sessions, Records: r.Records, Leaves: r.Leaves, Checkpoint: r.Checkpoint, Signed: r.Signed,
		Key: r.Key, Trail: dir, Findings: append([]audit.Finding{}, r.Findings...), Notes: append([]string{}, r.Notes...),
	}
}

// witnessed reports whether verifying a session that is not there says anything of it.
func (p *Program) witnessed(ctx context.Context, s *session.Sessions, dir, id string) bool {
	r, err := audit.Verify(ctx, s, dir, &audit.VerifyOptions{Session: id})
	if err != nil {
		return false
	}
	for _, f := range r.Findings {
		if f.Session == id {
			return true
		}
	}
	return false
}

func (c *auditVerifyCmd) options(ctx context.Context, p *Program) (*audit.VerifyOptions, error) {
	o := &audit.VerifyOptions{Key: c.Key}
	if c.Checkpoint != "" {
		b, err := p.note(ctx, c.Checkpoint)
		if err != nil {
			return nil, err
		}
		if o.Checkpoint = b; len(b) == 0 {
			return nil, usage("the checkpoint is empty", "holdfast audit checkpoint prints one")
		}
	}
	if b, err := p.note(ctx, c.Key); err == nil && c.Key != "" && c.Key != "-" {
		o.Key = strings.TrimSpace(string(b))
	}
	return o, nil
}

// note reads a small file, or standard input.
func (p *Program) note(ctx context.Context, name string) ([]byte, error) {
	const limit = 1 << 20
	if name == "-" {
		return io.ReadAll(io.LimitReader(p.stdin(ctx), limit))
	}
	if !filepath.IsAbs(name) {
		wd, err := p.Getwd()
		if err != nil {
			return nil, err
		}
		name = filepath.Join(wd, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage(err.Error(), "")
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// verified prints a report: the first finding of each session, and how many more.
func (p *Program) verified(r *audit.Report) {
	t := p.out.term
	first := map[string]int{}
	for i := range r.Findings {
		first[r.Findings[i].Session]++
	}
	told := map[string]bool{}
	for _, f := range r.Findings {
		if told[f.Session] {
			continue
		}
		told[f.Session] = true
		more := ""
		if n := first[f.Session] - 1; n > 0 {
			more = t.dim(fmt.Sprintf("  and %d more", n))
		}
		p.out.line("%s  %s%s", t.red("bad"), shown(oneLine(f.String())), more)
	}
	for _, n := range r.Notes {
		p.err.line("%s", p.err.term.dim("· "+shown(oneLine(n))))
	}
	sum := fmt.Sprintf("%s, %s, %s", count(r.Sessions, "session"), count(r.Records, "record"), leafCount(r.Leaves))
	if r.Signed != "" {
		sum += ", checkpoint of " + r.Signed
	} else {
		sum += ", no checkpoint"
	}
	if len(r.Findings) == 0 {
		p.out.line("%s: %s", t.green("nothing was changed"), shown(sum))
		return
	}
	p.err.line("%s in %s", count(len(r.Findings), "finding"), shown(sum))
	p.err.line("%s keep a copy of the store and of the trail before anything else is run", p.err.term.bold("hint:"))
}

func leafCount(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}
