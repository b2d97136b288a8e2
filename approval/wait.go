package approval

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/session"
)

// retryPause is the first pause of [Wait] after a failed read, and maxRetryPause is the longest
// pause. retryTimeout is how long Wait keeps retrying while every read fails. pollInterval is how
// often Wait reads the log without a notification, because a store that is unreachable may not send
// one.
const (
	pollInterval  = time.Minute
	retryPause    = 250 * time.Millisecond
	maxRetryPause = 5 * time.Second
	retryTimeout  = 10 * time.Minute
)

// Wait waits for the answer to an approval request and returns it, whichever program gave it. It
// watches the session's log ([session.Sessions.Watch]) and also reads it once a minute. When the
// request expires, Wait denies it with the actor "timeout" and returns the answer that is recorded.
// It retries transient errors ([session.IsTransient]) with growing pauses for up to ten minutes.
//
// Wait returns the error of ctx, ErrNoRequest, or an error of the store.
func Wait(ctx context.Context, sessions *session.Sessions, sessionID string, q Request) (Answer, error) {
	w := waiter{sessions: sessions, session: sessionID, requestID: q.ID}
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

// watch returns when the log has grown, the request has expired, or pollInterval has passed. It
// returns an error if the log cannot be watched; the next read then reports the cause.
func (w *waiter) watch(ctx context.Context) error {
	quiet := pollInterval
	if left := w.remaining(); left != nil {
		quiet = min(quiet, max(*left, 0))
	}
	ctx, stop := context.WithTimeout(ctx, quiet)
	defer stop()
	for _, err := range w.sessions.Watch(ctx, w.session, w.seen) {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the next read reports it
		}
		return err
	}
	return nil
}

// waiter is the state of a [Wait].
type waiter struct {
	sessions           *session.Sessions
	session, requestID string

	found requestState
	known bool  // whether found is the state of the request as of seen
	seen  int64 // seq of a log head
}

// read reads the new records and returns the answer, or nil if there is no answer yet.
func (w *waiter) read(ctx context.Context) (*Answer, error) {
	m, err := w.sessions.Get(ctx, w.session)
	switch {
	case err != nil:
	case !w.known:
		w.found, err = look(ctx, w.sessions, m, w.requestID)
	case m.Head != w.seen:
		w.found.answer, err = answerSince(ctx, w.sessions, m, w.seen, w.requestID)
	}
	if err != nil {
		return nil, err
	}
	w.known, w.seen = true, m.Head
	if left := w.remaining(); w.found.answer == nil && left != nil && *left <= 0 {
		a, err := timeout(ctx, w.sessions, w.session, w.found.request)
		if err != nil {
			return nil, err
		}
		return &a, nil
	}
	return w.found.answer, nil
}

// remaining is the time until the request expires; nil means that the request never expires.
func (w *waiter) remaining() *time.Duration {
	if w.found.request.Expires == nil {
		return nil
	}
	left := w.found.request.Expires.Sub(w.sessions.Now())
	return &left
}

// timeout denies an expired request, unless there already is an answer.
func timeout(ctx context.Context, sessions *session.Sessions, sessionID string, q Request) (Answer, error) {
	a, err := Resolve(ctx, sessions, sessionID, Answer{
		RequestID: q.ID, Decision: Deny, Actor: "timeout", Message: "no answer in time",
	})
	if won, ok := errors.AsType[*AnsweredError](err); ok {
		return won.First, nil
	}
	return a, err
}

// answerSince returns the answer if it is in the records after a seq.
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
