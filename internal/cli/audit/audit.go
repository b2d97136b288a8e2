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

func (f *auditFilter) options(now time.Time) (*audit.ReadOptions, error) {
	o := &audit.ReadOptions{Kinds: f.Kind, Tool: f.Tool, Actor: f.Actor}
	for _, k := range f.Kind {
		if !slices.Contains(audit.Kinds(), k) {
			return nil, outcome.Invalid(strconv.Quote(k)+" is not a kind of audit entry", "use "+strings.Join(audit.Kinds(), ", "))
		}
	}
	var err error
	if o.Since, err = command.ReadTime("--since", f.Since, now); err != nil {
		return nil, err
	}
	o.Until, err = command.ReadTime("--until", f.Until, now)
	return o, err
}

// accesses reports whether to read the access log. This is so with --access, or if access is the
// only selected kind.
func (f *auditFilter) accesses(flag bool, named string) (bool, error) {
	if flag && named != "" {
		return false, outcome.Invalid("a session and --access cannot be used together", "")
	}
	return flag || named == "" && len(f.Kind) > 0 && !slices.ContainsFunc(f.Kind, func(k string) bool { return k != audit.KindAccess }), nil
}

// findSession finds the named session, or the newest one if name is empty.
func findSession(ctx context.Context, s *session.Sessions, name string) (session.Meta, error) {
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
