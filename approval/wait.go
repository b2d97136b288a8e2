package approval

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/session"
)

// retryPause is how long [Wait] pauses after a look that has failed, at first, and maxRetryPause
// at most. retryTimeout is how long it goes on while every look fails. pollInterval is after what
// time it looks although the store has told of nothing: it may be away, and not tell that.
const (
	pollInterval  = time.Minute
	retryPause    = 250 * time.Millisecond
	maxRetryPause = 5 * time.Second
	retryTimeout  = 10 * time.Minute
)

// Wait returns the answer to a question as soon as somebody has given one,
// wherever that was: it watches the session's log ([session.Sessions.Watch]), and looks once
// a minute besides. When the question's time has run out, Wait denies it, by "timeout"; whoever was first is returned.
// A look that fails for now ([session.IsTransient]) is tried again, less and less often, for ten
// minutes.
//
// Errors: that of ctx, ErrNoRequest, and those of the store.
func Wait(ctx context.Context, sessions *session.Sessions, sessionID string, q Request) (Answer, error) {
	w := waiter{sessions: sessions, session: sessionID, question: q.ID}
	well := time.Now()
	for pause := retryPause; ; {
		a, err := w.read(ctx)
		if a != nil {
			return *a, nil
		}
		now := time.Now()
		if err == nil {
			well, pause = now, retryPause
			err = w.watch(ctx)
			if ctx.Err() != nil {
				return Answer{}, ctx.Err()
			}
			if err == nil {
				continue
			}
		} else if ctx.Err() != nil || !session.IsTransient(err) || now.Sub(well) >= retryTimeout {
			return Answer{}, err
		}
		if err := wait.For(ctx, pause); err != nil {
			return Answer{}, err
		}
		pause = min(pause*2, maxRetryPause)
	}
}

// watch returns when the log has grown, the question's time has run out, or it was quiet for
// long. An error says
// that the log could not be watched: the next look says why.
func (w *waiter) watch(ctx context.Context) error {
	quiet := pollInterval
	if left := w.remaining(); left != nil {
		quiet = min(quiet, max(*left, 0))
	}
	ctx, stop := context.WithTimeout(ctx, quiet)
	defer stop()
	for _, err := range w.sessions.Watch(ctx, w.session, w.seen) {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the next look says what it is
		}
		return err
	}
	return nil
}

// waiter is what [Wait] has seen so far.
type waiter struct {
	sessions          *session.Sessions
	session, question string

	found requestState
	known bool  // found is what the log says up to seen
	seen  int64 // a head
}

// read takes in what is new, and returns the answer: nil while there is none.
func (w *waiter) read(ctx context.Context) (*Answer, error) {
	m, err := w.sessions.Get(ctx, w.session)
	switch {
	case err != nil:
	case !w.known:
		w.found, err = look(ctx, w.sessions, m, w.question)
	case m.Head != w.seen:
		w.found.answer, err = answerSince(ctx, w.sessions, m, w.seen, w.question)
	}
	if err != nil {
		return nil, err
	}
	w.known, w.seen = true, m.Head
	if left := w.remaining(); w.found.answer == nil && left != nil && *left <= 0 {
		a, err := timeout(ctx, w.sessions, w.session, w.found.question)
		if err != nil {
			return nil, err
		}
		return &a, nil
	}
	return w.found.answer, nil
}

// remaining is how long the question may wait; nil is for ever.
func (w *waiter) remaining() *time.Duration {
	if w.found.question.Expires == nil {
		return nil
	}
	left := w.found.question.Expires.Sub(w.sessions.Now())
	return &left
}

// timeout denies a question whose time has run out, unless somebody was faster.
func timeout(ctx context.Context, sessions *session.Sessions, sessionID string, q Request) (Answer, error) {
	a, err := Resolve(ctx, sessions, sessionID, Answer{
		RequestID: q.ID, Decision: Deny, Actor: "timeout", Message: "nobody answered in time",
	})
	if won, ok := errors.AsType[*AnsweredError](err); ok {
		return won.First, nil
	}
	return a, err
}

// answerSince looks for the answer behind a seq.
func answerSince(ctx context.Context, sessions *session.Sessions, m session.Meta, seen int64, id string) (*Answer, error) {
	for r, err := range sessions.Records(ctx, m.ID, session.Range{After: seen, Until: m.Head}) {
		if err != nil {
			return nil, err
		}
		if r.Kind != record.KindApprovalResolved || r.Payload == nil {
			continue
		}
		a, err := readAnswer(m.ID, r)
		if err != nil {
			return nil, err
		}
		if a.RequestID == id {
			return &a, nil
		}
	}
	return nil, nil
}
