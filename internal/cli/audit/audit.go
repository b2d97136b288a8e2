// Package audit is `holdfast audit`: show, verify, export and sign the audit trail.
package audit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// Command makes `holdfast audit`.
func Command(p *command.Program) *command.Command {
	return p.Group("audit", "Show, verify and export the audit trail.",
		p.Command(&showCmd{}, "show", "Show who let what happen in a session, and what came of it."),
		p.Command(&verifyCmd{}, "verify", "Prove that nothing was changed, or say where the first bad record is."),
		p.Command(&exportCmd{}, "export", "Write evidence as jsonl, csv, ocsf, cloudevents or html."),
		p.Command(&checkpointCmd{}, "checkpoint", "Sign what the trail holds and print it, to be kept elsewhere."),
	)
}

// accessFlag says which log is meant.
type accessFlag struct {
	Access bool
}

func (c *accessFlag) Declare(b *command.Builder) {
	b.Flag(&c.Access, "access", "", "", "The log of this home's daemon instead of a session: logins, tokens that were made and revoked, refused credentials.")
}

// auditFilter picks entries.
type auditFilter struct {
	Kind  []string
	Tool  string
	Actor string
	Since string
	Until string
}

func (c *auditFilter) Declare(b *command.Builder) {
	b.Words(&c.Kind, "kind", "", "KIND", "Only entries of this kind: session, run, decision, effect, approval, policy, hook, redaction or access; may be repeated.")
	b.Flag(&c.Tool, "tool", "", "TOOL", "Only entries about this tool.")
	b.Flag(&c.Actor, "actor", "", "NAME", "Only what this one decided or did: a name, or person, rule, mode, hook, nobody …")
	b.Flag(&c.Since, "since", "", "TIME", "Only entries from then on: 2026-11-20, 2026-11-20T15:04:05Z, or 2h, 3d ago.")
	b.Flag(&c.Until, "until", "", "TIME", "Only entries before then.")
}

func (f *auditFilter) options(now time.Time) (*audit.ReadOptions, error) {
	o := &audit.ReadOptions{Kinds: f.Kind, Tool: f.Tool, Actor: f.Actor}
	for _, k := range f.Kind {
		if !slices.Contains(audit.Kinds(), k) {
			return nil, outcome.Invalid(strconv.Quote(k)+" is no kind of evidence", "use "+strings.Join(audit.Kinds(), ", "))
		}
	}
	var err error
	if o.Since, err = command.ReadTime("--since", f.Since, now); err != nil {
		return nil, err
	}
	o.Until, err = command.ReadTime("--until", f.Until, now)
	return o, err
}

// accesses reports whether the log of logins and tokens is meant: nothing else has entries of
// that kind.
func (f *auditFilter) accesses(flag bool, named string) (bool, error) {
	if flag && named != "" {
		return false, outcome.Invalid("name a session or say --access, not both", "")
	}
	return flag || named == "" && len(f.Kind) > 0 && !slices.ContainsFunc(f.Kind, func(k string) bool { return k != audit.KindAccess }), nil
}

// evidenceOf finds the session that is meant: the newest when none is named.
func evidenceOf(ctx context.Context, s *session.Sessions, name string) (session.Meta, error) {
	if name != "" {
		return s.Find(ctx, name)
	}
	page, err := s.List(ctx, session.Query{Worktrees: true, WithTrash: true, Limit: 1})
	if err != nil {
		return session.Meta{}, err
	}
	if len(page.Sessions) == 0 {
		return session.Meta{}, &outcome.Failure{Message: "there are no sessions", Advice: "holdfast run", Result: outcome.NotFound, Cause: session.ErrNotFound}
	}
	return page.Sessions[0], nil
}
