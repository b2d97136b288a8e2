package stores

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/session"
)

// Verify verifies sessions of the store of a URL against the store's trail: one session, or all
// sessions and the log of logins and tokens. The error is session.ErrNotFound for a deleted
// session, unless the trail still contains it.
func Verify(ctx context.Context, e *env.Env, url string, s *session.Sessions, o *audit.VerifyOptions) (*audit.Report, error) {
	dir, err := ExistingTrailDir(e, url, false)
	if err != nil {
		return nil, err
	}
	one := ""
	if o != nil {
		one = o.Session
	}
	var missing error
	if one != "" {
		if _, missing = s.Get(ctx, one); missing != nil && !errors.Is(missing, session.ErrNotFound) {
			return nil, missing
		}
	}
	r, err := audit.Verify(ctx, s, dir, o)
	switch {
	case missing != nil && (err != nil || !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Session == one })):
		return nil, missing
	case err != nil || one != "":
		return r, err
	}
	access, err := VerifyAccess(ctx, e, nil)
	if errors.Is(err, session.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.AddAccess(access)
	return r, nil
}

// VerifyAccess verifies the log of logins and tokens against its trail. The error is
// session.ErrNotFound if there is none.
func VerifyAccess(ctx context.Context, e *env.Env, o *audit.VerifyOptions) (*audit.Report, error) {
	s, dir, done, err := OpenAccess(e)
	if err != nil {
		return nil, err
	}
	defer done()
	return audit.Verify(ctx, s, dir, o)
}
