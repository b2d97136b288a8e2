package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// auditVerifyCmd is `holdfast audit verify`.
type auditVerifyCmd struct {
	Session    string
	Checkpoint string
	Key        string
	accessFlag
	storeFlags
	jsonFlag
}

func (c *auditVerifyCmd) declare(b *builder) {
	b.flag(&c.Session, "session", "", "SESSION", "This one only; default every session of the store.")
	b.flag(&c.Checkpoint, "checkpoint", "", "FILE", "A checkpoint that was kept elsewhere; the trail must go on from it. - is standard input.")
	b.flag(&c.Key, "key", "", "KEY", "The verifier key that checkpoints must be signed with, or a file with it; default the trail's own.")
	b.include(&c.accessFlag)
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

// Help says more than one line.
func (c *auditVerifyCmd) Help() string {
	return `Every record is compared with its digest and the one before it, every log with the audit
trail, and that with its signed checkpoints; so is the log of logins and tokens. So a changed, removed, added or swapped record
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
	Access     *auditDoc       `json:"access,omitempty"` // the log of logins and tokens, with its own trail
}

func (c *auditVerifyCmd) run(ctx context.Context, p *Program) error {
	o, err := c.options(ctx, p)
	if err != nil {
		return err
	}
	if c.Access {
		return c.access(ctx, p, o)
	}
	dir, err := stores.Recorded(p.environment(), c.Store, false)
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
	d, err := p.withAccess(ctx, reportDoc(r, dir), c.Session == "")
	if err != nil {
		return err
	}
	return c.tell(p, d)
}

// access verifies the log of logins and tokens alone.
func (c *auditVerifyCmd) access(ctx context.Context, p *Program, o *audit.VerifyOptions) error {
	if c.Session != "" {
		return usage("name a session or say --access, not both", "")
	}
	r, dir, err := p.verifyAccess(ctx, o)
	if err == nil && r == nil {
		_, _, _, err = p.accessed() // says that there is none
	}
	if err != nil {
		return err
	}
	return c.tell(p, reportDoc(r, dir))
}

func (c *auditVerifyCmd) tell(p *Program, d auditDoc) error {
	if c.JSON {
		if err := p.out.JSON(d, p.out.TTY); err != nil {
			return err
		}
	} else {
		p.verified(&d)
	}
	if !d.OK {
		return ended{outcome.Corrupt}
	}
	return nil
}

// withAccess adds what verifying the log of logins and tokens has found to a report of all
// sessions.
func (p *Program) withAccess(ctx context.Context, d auditDoc, all bool) (auditDoc, error) {
	if !all {
		return d, nil
	}
	r, dir, err := p.verifyAccess(ctx, nil)
	if err != nil || r == nil {
		return d, err
	}
	access := reportDoc(r, dir)
	d.Access, d.OK, d.Findings = &access, d.OK && access.OK, append(d.Findings, named(r.Findings)...)
	return d, nil
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
func (p *Program) verified(d *auditDoc) {
	t := p.out.Style
	first := map[string]int{}
	for i := range d.Findings {
		first[d.Findings[i].Session]++
	}
	told := map[string]bool{}
	for _, f := range d.Findings {
		if told[f.Session] {
			continue
		}
		told[f.Session] = true
		more := ""
		if n := first[f.Session] - 1; n > 0 {
			more = t.Dim(fmt.Sprintf("  and %d more", n))
		}
		p.out.Line("%s  %s%s", t.Red("bad"), term.Escape(term.OneLine(f.String())), more)
	}
	for _, n := range d.Notes {
		p.err.Line("%s", p.err.Dim("· "+term.Escape(term.OneLine(n))))
	}
	sum := fmt.Sprintf("%s, %s, %s", term.Count(d.Sessions, "session"), term.Count(d.Records, "record"), leafCount(d.Leaves))
	if d.Signed != "" {
		sum += ", checkpoint of " + d.Signed
	} else {
		sum += ", no checkpoint"
	}
	if a := d.Access; a != nil {
		sum += fmt.Sprintf("; logins and tokens: %s, %s", term.Count(a.Records, "record"), leafCount(a.Leaves))
	}
	if len(d.Findings) == 0 {
		p.out.Line("%s: %s", t.Green("nothing was changed"), term.Escape(sum))
		return
	}
	p.err.Line("%s in %s", term.Count(len(d.Findings), "finding"), term.Escape(sum))
	p.err.Line("%s keep a copy of the store and of the trail before anything else is run", p.err.Bold("hint:"))
}

// named are findings about the log of logins and tokens: those about its trail as a whole
// say whose trail it is.
func named(list []audit.Finding) []audit.Finding {
	list = slices.Clone(list)
	for i := range list {
		list[i].Session = audit.AccessID
	}
	return list
}

func leafCount(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}
