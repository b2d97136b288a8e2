package approval

import (
	"errors"
	"fmt"
)

// Errors of this package. Test for them with [errors.Is].
var (
	ErrNoRequest = errors.New("no such approval request is waiting")
	ErrAnswered  = errors.New("the approval request was already answered")
	ErrExpired   = errors.New("the approval request expired")
	ErrInvalid   = errors.New("invalid answer")
	// ErrSuspend, returned by the approver, leaves the approval request open. The run
	// ends and can be resumed after an answer.
	ErrSuspend = errors.New("left open without an answer")
)

// AnsweredError has the answer that came first. It wraps ErrAnswered.
type AnsweredError struct{ First Answer }

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("%v: %s by %s", ErrAnswered, e.First.Decision, e.First.Actor)
}

// Unwrap returns ErrAnswered.
func (e *AnsweredError) Unwrap() error { return ErrAnswered }
