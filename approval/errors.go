package approval

import (
	"errors"
	"fmt"
)

// The contracts of this package's errors.
var (
	ErrNoRequest = errors.New("no such question is waiting")
	ErrAnswered  = errors.New("the question was answered already")
	ErrExpired   = errors.New("the question's time has run out")
	ErrInvalid   = errors.New("not a usable answer")
	// ErrSuspend, returned by whoever is asked, leaves the question open: the run
	// ends and can be resumed when somebody has answered.
	ErrSuspend = errors.New("the question was left open")
)

// AnsweredError tells who was faster. It wraps ErrAnswered.
type AnsweredError struct{ First Answer }

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("%v: %s by %s", ErrAnswered, e.First.Decision, e.First.Actor)
}

// Unwrap returns ErrAnswered.
func (e *AnsweredError) Unwrap() error { return ErrAnswered }
