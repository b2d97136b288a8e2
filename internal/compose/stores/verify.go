package stores

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/session"
)

// Verify verifies the sessions of the store that a URL names against the store's trail: one of them,
// or all and then the log of logins and tokens, too. A session that is gone is session.ErrNotFound
// unless the trail still tells of it.
func Verify(ctx context.Context, e *env.Env, url string, s *session.Sessions, o *audit.VerifyOptions) (*audit.Report, error) {
	dir, err := Recorded(e, url, false)
	if err != nil {
		return nil, err
	}
	one := ""
	if o != nil {
		one = o.Session
	}
	var gone error
	if one != "" {
		if _, gone = s.Get(ctx, one); gone != nil && !errors.Is(gone, session.ErrNotFound) {
			return nil, gone
		}
	}
	r, err := audit.Verify(ctx, s, dir, o)
	switch {
	case gone != nil && (err != nil || !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Session == one })):
		return nil, gone
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
// session.ErrNotFound when there is none.
func VerifyAccess(ctx context.Context, e *env.Env, o *audit.VerifyOptions) (*audit.Report, error) {
	s, dir, done, err := OpenAccess(e)
	if err != nil {
		return nil, err
	}
	defer done()
	return audit.Verify(ctx, s, dir, o)
}
