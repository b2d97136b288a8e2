package auth

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Errors for errors.Is.
var (
	ErrInvalid = errors.New("invalid")
	ErrUnknown = errors.New("unknown")
	ErrDamaged = errors.New("damaged")
	// ErrUnrecorded means that the audit log cannot be written. Nothing was created. A revocation
	// took effect nevertheless.
	ErrUnrecorded = errors.New("not recorded")
)

// Error is an error that the user can fix.
type Error struct {
	Kind error // ErrInvalid, ErrUnknown, ErrDamaged, ErrUnrecorded
	Text string
	hint string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Hint returns how to fix the problem, or "".
func (e *Error) Hint() string { return e.hint }

// Outcome returns the outcome of a command or request with this error.
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
