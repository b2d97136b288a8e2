package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

type redactDoc struct {
	Session   string                 `json:"session"`
	DryRun    bool                   `json:"dry_run,omitempty"`
	Erased    []erasedDoc            `json:"erased"`
	Copies    []session.ExternalCopy `json:"copies,omitempty"`
	Remaining []remainingDoc         `json:"left,omitempty"`
}

type erasedDoc struct {
	Seq         int64           `json:"seq"`
	Kind        session.Kind    `json:"kind"`
	Session     string          `json:"session"`
	Replacement json.RawMessage `json:"instead,omitempty"`
}

type remainingDoc struct {
	Session string       `json:"session"`
	Seq     int64        `json:"seq,omitempty"`
	Kind    session.Kind `json:"kind,omitempty"`
	Why     string       `json:"why"`
}

func (c *redactCmd) Run(ctx context.Context, p *command.Program) error {
	o, err := c.options(p)
	if err != nil {
		return err
	}
	s, closeStore, err := p.OpenStoreOptions(ctx, c.Store, &stores.Options{Mirror: true})
	if err != nil {
		return err
	}
	defer closeStore()
	m, err := findRedactable(ctx, s, c.Session)
	if err != nil {
		return err
	}
	return c.redact(ctx, p, s, m, o)
}

// findRedactable finds a session with content to erase. It also finds a session in the trash. If the
// argument is the whole id of a deleted session, it finds that session as long as forks still show
// it.
func findRedactable(ctx context.Context, s *session.Sessions, name string) (session.Meta, error) {
	m, err := s.Find(ctx, name)
	if !errors.Is(err, session.ErrNotFound) {
		return m, err
	}
	if trashed, gone := s.FindTrashed(ctx, name); gone == nil {
		return trashed, nil
	}
	page, lost := s.List(ctx, session.Query{ID: name})
	if lost == nil && len(page.Sessions) == 1 {
		return page.Sessions[0], nil
	}
	return m, err
}

func (c *redactCmd) redact(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta, o session.RedactOptions) error {
	if !c.DryRun && !c.Yes && isUnattended(p) {
		return outcome.Invalid("cannot ask for confirmation without a terminal",
			"holdfast sessions redact --dry-run … "+term.Quote(m.ID)+" shows what would be erased, --yes erases it")
	}
	dry := o
	dry.DryRun = true
	plan, err := s.Redact(ctx, m.ID, dry)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.print(p, m.ID, plan, "would be erased")
	}
	if !c.Yes && len(plan.Erased)+len(plan.Copies) > 0 {
		if err := c.confirm(ctx, p, m, plan); err != nil {
			return err
		}
	}
	did, err := s.Redact(ctx, m.ID, o)
	if err != nil {
		return err
	}
	return c.print(p, m.ID, did, "erased")
}

// options returns the options that say what to erase.
func (c *redactCmd) options(p *command.Program) (session.RedactOptions, error) {
	o := session.RedactOptions{Reason: c.Reason, By: cmp.Or(p.Getenv("USER"), "person")}
	ways := 0
	for _, given := range []bool{len(c.Seq) > 0, c.Match != "", c.Secrets} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return o, outcome.Invalid("choose what to erase: one of --seq, --match and --secrets", "holdfast sessions redact --secrets --dry-run SESSION")
	}
	var (
		m   *secret.Masker
		err error
	)
	switch {
	case c.Match != "":
		m, err = secret.New(&secret.Options{NoBuiltin: true, Patterns: []secret.Pattern{{ID: "match", Expr: c.Match, Replacement: record.Erased}}})
		if err != nil {
			return o, outcome.Invalid("--match: "+err.Error(), "use --seq to erase whole records")
		}
	case c.Secrets:
		if m, err = newMasker(p); err != nil {
			return o, err
		}
	default:
		o.Seqs, err = parseSeqs(c.Seq)
		o.Skip = len(o.Seqs) > len(c.Seq) // a range may include records that cannot be erased
		return o, err
	}
	o.Mask = func(payload json.RawMessage) json.RawMessage {
		masked, _ := m.JSON(payload)
		return masked
	}
	return o, nil
}

// newMasker returns the masker for the settings of the current folder, even if the settings turn
// masking off.
func newMasker(p *command.Program) (*secret.Masker, error) {
	s, err := p.FolderSettings("")
	if err != nil {
		return nil, err
	}
	s.Secrets.Mask.Value = true
	return s.Masker()
}

// maxSeqs is the maximum number of records in a range, so that a typing error does not fill the
// memory.
const maxSeqs = 1_000_000

// parseSeqs parses numbers and ranges: 12, 14-16.
func parseSeqs(given []string) ([]int64, error) {
	var list []int64
	for _, s := range given {
		from, to, isRange := strings.Cut(s, "-")
		a, err := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseInt(strings.TrimSpace(to), 10, 64)
		}
		if err != nil || a < 1 || b < a || b-a >= maxSeqs {
			return nil, outcome.Invalid(fmt.Sprintf("--seq %q is not a number or a range", s), "use a form such as --seq 12-14,20")
		}
		for ; a <= b; a++ {
			list = append(list, a)
		}
	}
	return list, nil
}

// isUnattended reports whether there is no terminal for a confirmation.
func isUnattended(p *command.Program) bool {
	a := question.NewAsker(p)
	if a == nil {
		return true
	}
	a.Close()
	return false
}

// confirm shows what will be erased and asks at the terminal.
func (c *redactCmd) confirm(ctx context.Context, p *command.Program, m session.Meta, plan *session.Redaction) error {
	a := question.NewAsker(p)
	if a == nil {
		return outcome.Invalid("cannot ask for confirmation without a terminal", "holdfast sessions redact --yes … "+term.Quote(m.ID))
	}
	defer a.Close()
	a.Out.Line("session %s  %s", term.Escape(m.ID), term.Escape(term.Truncate(cmp.Or(m.Title, m.FirstPrompt), 60)))
	c.rows(m.ID, plan, a.Out.Line)
	ok, err := a.Yes(ctx, fmt.Sprintf("permanently erase %s?", c.amount(plan)))
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was erased", "")
}

func (c *redactCmd) amount(r *session.Redaction) string {
	text := term.Count(len(r.Erased), "record")
	if n := removedCopies(r); n > 0 {
		text += " and " + term.Count(n, "file")
	}
	if len(c.Seq) > 0 {
		return text
	}
	return "this in " + text
}

// removedCopies counts the copies of erased content that are removed.
func removedCopies(r *session.Redaction) (n int) {
	for _, h := range r.Copies {
		if h.Stays == "" {
			n++
		}
	}
	return n
}

// rows prints what is erased, with one place per line. Places in other sessions are listed below
// the ids of these sessions.
func (c *redactCmd) rows(id string, r *session.Redaction, line func(string, ...any)) {
	for _, e := range r.Erased {
		if e.Session != id {
			id = e.Session
			line("session %s", term.Escape(id))
		}
		line("%s", c.row(e))
	}
	for _, h := range r.Copies {
		if h.Stays == "" {
			line("%7s  %s", h.Kind, term.Escape(h.Path))
		}
	}
}

// row returns the line for one record. It shows the text that will be erased or, for a secret, the
// text that remains.
func (c *redactCmd) row(e session.Erasure) string {
	text := e.Record.Payload
	if c.Secrets || c.Match != "" {
		text = e.Replacement
	}
	return fmt.Sprintf("%5d  %s  %s", e.Record.Seq, term.Column(string(e.Record.Kind), 17), term.Escape(term.Clip(excerpt(string(text)), 160)))
}

// excerpt returns the part of a payload that begins shortly before the first masked place.
func excerpt(payload string) string {
	at := -1
	for _, mark := range []string{"[secret:", record.Erased} {
		if i := strings.Index(payload, mark); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 100 {
		return payload
	}
	return "…" + strings.ToValidUTF8(payload[at-80:], "")
}

func (c *redactCmd) print(p *command.Program, id string, r *session.Redaction, what string) error {
	if c.JSON {
		d := redactDoc{Session: id, DryRun: c.DryRun, Erased: []erasedDoc{}}
		for _, e := range r.Erased {
			d.Erased = append(d.Erased, erasedDoc{e.Record.Seq, e.Record.Kind, e.Session, e.Replacement})
		}
		d.Copies = r.Copies
		for _, l := range r.Remaining {
			d.Remaining = append(d.Remaining, remainingDoc{l.Session, l.Record.Seq, l.Record.Kind, l.Reason})
		}
		return p.Out.JSON(d, false)
	}
	if c.DryRun || c.Yes {
		c.rows(id, r, p.Out.Line)
	}
	text := term.Count(len(r.Erased), "record")
	if n := removedCopies(r); n > 0 {
		text += " and " + term.Count(n, "file")
	}
	p.Err.Line("session %s: %s %s", term.Escape(id), text, what)
	for _, h := range r.Copies {
		if h.Stays != "" {
			p.Warn("session %s: %s %s was not erased: %s", h.Session, h.Kind, h.Path, h.Stays)
		}
	}
	for _, l := range r.Remaining {
		if len(c.Seq) > 0 && l.Session == id { // within a range
			p.Err.Line("record %d (%s) was not erased: %s", l.Record.Seq, l.Record.Kind, l.Reason)
			continue
		}
		if l.Record.Seq == 0 {
			p.Warn("session %s: %s", l.Session, l.Reason)
			continue
		}
		p.Warn("session %s, record %d (%s) still contains the text: %s", l.Session, l.Record.Seq, l.Record.Kind, l.Reason)
	}
	return nil
}
