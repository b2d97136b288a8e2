package approval

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// waitEvery is how often [Wait] looks when it is not told.
const waitEvery = 250 * time.Millisecond

// Wait returns the answer to a question as soon as somebody has given one,
// wherever that was. It looks at the log's head every so often (0 is four times a
// second) and reads only what is new. When the question's time has run out, Wait
// denies it, by "timeout"; whoever was first is returned.
//
// Errors: that of ctx, ErrNoQuestion, and those of the store.
func Wait(ctx context.Context, sessions *session.Sessions, sessionID string, q Question, every time.Duration) (Answer, error) {
	if every <= 0 {
		every = waitEvery
	}
	m, err := sessions.Get(ctx, sessionID)
	if err != nil {
		return Answer{}, err
	}
	f, err := look(ctx, sessions, m, q.ID)
	for {
		if err != nil {
			return Answer{}, err
		}
		if f.answer != nil {
			return *f.answer, nil
		}
		pause := every
		if f.question.Expires != nil {
			left := f.question.Expires.Sub(sessions.Now())
			if left <= 0 {
				return timeout(ctx, sessions, sessionID, f.question)
			}
			pause = min(pause, left)
		}
		if err := sleep(ctx, pause); err != nil {
			return Answer{}, err
		}
		seen := m.Head
		if m, err = sessions.Get(ctx, sessionID); err == nil && m.Head != seen {
			f.answer, err = answerSince(ctx, sessions, m, seen, q.ID)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// timeout denies a question whose time has run out, unless somebody was faster.
func timeout(ctx context.Context, sessions *session.Sessions, sessionID string, q Question) (Answer, error) {
	a, err := Resolve(ctx, sessions, sessionID, Answer{
		Question: q.ID, Decision: Deny, By: "timeout", Message: "nobody answered in time",
	})
	if won, ok := errors.AsType[*AnsweredError](err); ok {
		return won.Winner, nil
	}
	return a, err
}

// answerSince looks for the answer behind a seq.
func answerSince(ctx context.Context, sessions *session.Sessions, m session.Meta, seen int64, id string) (*Answer, error) {
	for r, err := range sessions.Records(ctx, m.ID, session.Range{After: seen, Until: m.Head}) {
		if err != nil {
			return nil, err
		}
		if r.Kind != session.KindApprovalResolved || r.Payload == nil {
			continue
		}
		a, err := readAnswer(m.ID, r)
		if err != nil {
			return nil, err
		}
		if a.Question == id {
			return &a, nil
		}
	}
	return nil, nil
}
