package approval

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

var errTodo = errors.New("approval: not built yet")

// Resolve answers a question of a session: it appends the approval.resolved
// record, on the condition that nobody has answered meanwhile. It returns the
// answer that counts.
//
// The same answer again is fine. Another one is an [*AnsweredError] that names the
// winner; ErrNoQuestion when the session has no such question, ErrExpired when an
// allow comes too late, ErrInvalid for an answer that cannot be used.
func Resolve(ctx context.Context, sessions *session.Sessions, sessionID string, a Answer) (Answer, error) {
	return Answer{}, errTodo
}

// Pending lists the open questions of a session, oldest first, or with "" those
// of all sessions.
func Pending(ctx context.Context, sessions *session.Sessions, sessionID string) ([]Question, error) {
	return nil, errTodo
}

// Find finds a question by its id or an unambiguous beginning of it, and its
// answer when it has one. ErrNoQuestion otherwise.
func Find(ctx context.Context, sessions *session.Sessions, id string) (Question, *Answer, error) {
	return Question{}, nil, errTodo
}

// Wait returns the answer to a question as soon as somebody has given one. It
// looks into the log every so often; 0 means four times a second. When the
// question expires, Wait answers it with a deny by "timeout".
func Wait(ctx context.Context, sessions *session.Sessions, sessionID string, q Question, every time.Duration) (Answer, error) {
	return Answer{}, errTodo
}

// QuestionOptions say what is not in a decision. The zero value works.
type QuestionOptions struct {
	ID      string        // of the question; required to be unique in its session
	Agent   string        // default that of the decision
	Home    string        // of the user: no scope is offered for all of it
	Cwd     string        // the session's folder
	Sandbox string        // what would hold the call; default "none"
	At      time.Time     // when it is asked
	Timeout time.Duration // then the answer is no; 0 is never
}

// New makes the question for a decision whose effect is ask. requests are those
// that were judged.
func New(requests []policy.Request, d policy.Decision, o QuestionOptions) Question {
	return Question{ID: o.ID, Use: d.Use, Tool: d.Tool, Requests: requests, Digest: policy.Digest(requests)}
}

// Grant is what a session decision leaves for the rest of the run. ErrInvalid for
// a decision that leaves nothing. Its ID and Name are for [policy.Guards.Check] to fill in.
func Grant(q Question, a Answer) (policy.Grant, error) {
	return policy.Grant{}, errTodo
}
