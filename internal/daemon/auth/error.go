package auth

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// The ways to be wrong, for errors.Is.
var (
	ErrInvalid = errors.New("invalid")
	ErrUnknown = errors.New("unknown")
	ErrDamaged = errors.New("damaged")
	// ErrUnrecorded: the audit log cannot be written. What was to be made was not made; what
	// was to be taken back was taken back.
	ErrUnrecorded = errors.New("not on record")
)

// Error is what a person can do something about.
type Error struct {
	Kind error // ErrInvalid, ErrUnknown, ErrDamaged, ErrUnrecorded
	Text string
	hint string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Hint says what to do, or "".
func (e *Error) Hint() string { return e.hint }

// Outcome is how a command or a request ends with it.
func (e *Error) Outcome() outcome.Outcome {
	switch {
	case errors.Is(e, ErrInvalid):
		return outcome.Usage
	case errors.Is(e, ErrUnknown):
		return outcome.NotFound
	}
	return outcome.Failed
}

func invalid(format string, args ...any) *Error {
	return &Error{Kind: ErrInvalid, Text: fmt.Sprintf(format, args...)}
}

func (e *Error) with(hint string) *Error {
	e.hint = hint
	return e
}
