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

// Resolve answers a question of a session: it appends the approval.resolved
// record on the condition that nobody has answered meanwhile, and returns the
// answer that counts. With an answer for the session comes the grant, in one batch. It needs no lease and works while the session runs
// elsewhere. An answer without a time gets that of the sessions' clock.
//
// The same answer again (decision, scope and input) is fine and returns the one
// on record. Another one is an [*AnsweredError] that names the winner.
// ErrNoRequest when the session has no such question, ErrExpired when an allow
// comes too late, ErrInvalid when the answer cannot be used for the question.
func Resolve(ctx context.Context, sessions *session.Sessions, sessionID string, a Answer) (Answer, error) {
	if err := a.check(); err != nil {
		return Answer{}, err
	}
	if a.RequestID == "" {
		return Answer{}, invalid("it does not say which question it answers")
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
		if err := at.question.Check(a); err != nil {
			return Answer{}, err
		}
		if err := a.inTime(at.question, sessions.Now()); err != nil {
			return Answer{}, err
		}
		a = a.Bind(at.question)
		d, err := session.NewDraft(record.KindApprovalResolved, a)
		if err != nil {
			return Answer{}, err
		}
		d.ID = id
		drafts := []session.Draft{d}
		if a.Decision.Session() {
			if d, err = grantDraft(sessions, m, at.question, a); err != nil {
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
		if err := ctx.Err(); err != nil { // somebody was faster; look again
			return Answer{}, err
		}
	}
}

// grantDraft is the record of what an answer for the session leaves.
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
		return session.Draft{}, invalid("it cannot be remembered: %v", err)
	}
	change.Version = 0 // whoever runs the session counts
	return session.NewDraft(record.KindPolicyChanged, change)
}

// settle is what becomes of a later answer.
func (a *Answer) settle(later Answer) (Answer, error) {
	if a.Decision != later.Decision || a.Scope != later.Scope || !jsonscan.Equal(a.Input, later.Input) {
		return Answer{}, &AnsweredError{First: *a}
	}
	return *a, nil
}

// requestState is where a question of a session stands.
type requestState struct {
	question Request
	answer   *Answer // nil while it is open
}

// look finds a question in a session's own records, up to the head that m has. It
// reads backwards: what is asked about is mostly near the end.
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
			if a.RequestID == id { // an earlier one wins, should there be two
				f.answer = &a
			}
		case record.KindApprovalAsked:
			q, err := readRequest(m.ID, r)
			if err != nil {
				return f, err
			}
			if q.ID == id {
				f.question = q
				return f, nil
			}
		}
	}
	return f, fmt.Errorf("%w: session %s has no question %s; hint: holdfast approvals list", ErrNoRequest, m.ID, id)
}
