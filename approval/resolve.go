package approval

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Resolve answers an approval request of a session. It appends the approval.resolved record on the
// condition that there is no answer yet, and returns the answer that is recorded. A session
// decision adds its grant in the same batch. Resolve needs no lease and works while another process
// runs the session. An answer without a time gets the time of the sessions' clock.
//
// If the same answer (decision, scope and input) is already stored, Resolve returns the stored
// answer. If a different answer is stored, the error is an [*AnsweredError]. Resolve returns
// ErrNoRequest if the session has no such request, ErrExpired for an allow after the request has
// expired, and ErrInvalid if the answer does not fit the request.
func Resolve(ctx context.Context, sessions *session.Sessions, sessionID string, a Answer) (Answer, error) {
	if err := a.check(); err != nil {
		return Answer{}, err
	}
	if a.RequestID == "" {
		return Answer{}, invalid("the answer has no request id")
	}
	if a.At.IsZero() {
		a.At = sessions.Now()
	}
	a.At = a.At.UTC().Truncate(time.Millisecond)
	for id := sessions.NewID(); ; {
		m, err := sessions.Get(ctx, sessionID)
		if err != nil {
			return Answer{}, err
		}
		at, err := look(ctx, sessions, m, a.RequestID)
		if err != nil {
			return Answer{}, err
		}
		if at.answer != nil {
			return at.answer.settle(a)
		}
		if err := at.request.Check(a); err != nil {
			return Answer{}, err
		}
		if err := a.inTime(at.request, sessions.Now()); err != nil {
			return Answer{}, err
		}
		a = a.Bind(at.request)
		d, err := session.NewDraft(record.KindApprovalResolved, a)
		if err != nil {
			return Answer{}, err
		}
		d.ID = id
		drafts := []session.Draft{d}
		if a.Decision.Session() {
			if d, err = grantDraft(sessions, m, at.request, a); err != nil {
				return Answer{}, err
			}
			drafts = append(drafts, d)
		}
		if _, err = sessions.AppendShared(ctx, sessionID, m.Head, drafts...); err == nil {
			return a, nil
		}
		if !errors.Is(err, session.ErrConflict) {
			return Answer{}, err
		}
		if err := ctx.Err(); err != nil { // another record was appended first, so check again
			return Answer{}, err
		}
	}
}

// grantDraft returns the record of the grant for a session decision.
func grantDraft(sessions *session.Sessions, m session.Meta, q Request, a Answer) (session.Draft, error) {
	c := &policy.Config{NewID: sessions.NewID, Now: func() time.Time { return a.At }}
	if path.IsAbs(m.CWD) {
		c.Folders = []string{path.Clean(m.CWD)}
	}
	g, err := q.Grant(a)
	if err != nil {
		return session.Draft{}, err
	}
	guards, err := policy.New(c)
	if err != nil {
		return session.Draft{}, err
	}
	change, err := guards.Check(policy.Change{Grant: &g, By: a.Actor})
	if err != nil {
		return session.Draft{}, invalid("cannot store the session-wide decision: %v", err)
	}
	change.Version = 0 // the process that runs the session sets it
	return session.NewDraft(record.KindPolicyChanged, change)
}

// settle compares a later answer with the answer that came first.
func (a *Answer) settle(later Answer) (Answer, error) {
	if a.Decision != later.Decision || a.Scope != later.Scope || !jsonscan.Equal(a.Input, later.Input) {
		return Answer{}, &AnsweredError{First: *a}
	}
	return *a, nil
}

// requestState is the state of one approval request.
type requestState struct {
	request Request
	answer  *Answer // nil while the request is open
}

// look finds an approval request in a session's own records, up to the head in m. It reads
// backward because open requests are usually near the end.
func look(ctx context.Context, sessions *session.Sessions, m session.Meta, id string) (requestState, error) {
	var f requestState
	for r, err := range newestFirst(ctx, sessions, m) {
		if err != nil {
			return f, err
		}
		switch r.Kind {
		case record.KindApprovalResolved:
			a, err := readAnswer(m.ID, r)
			if err != nil {
				return f, err
			}
			if a.RequestID == id { // if there are two, the earlier one applies
				f.answer = &a
			}
		case record.KindApprovalAsked:
			q, err := readRequest(m.ID, r)
			if err != nil {
				return f, err
			}
			if q.ID == id {
				f.request = q
				return f, nil
			}
		}
	}
	return f, fmt.Errorf("%w: session %s has no approval request %s; hint: holdfast approvals list", ErrNoRequest, m.ID, id)
}
