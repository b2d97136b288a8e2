package runs

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Error is what went wrong, with its code on the wire.
type Error struct {
	Code    wire.Code
	Message string
	Tip     string // what to do about it, or ""
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it, or "".
func (e *Error) Hint() string { return e.Tip }

// fail is an error with the words of its cause; nil of nothing.
func fail(code wire.Code, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: code, Message: e.Message, Tip: e.Tip, Err: err}
	}
	return &Error{Code: code, Message: err.Error(), Tip: outcome.Hint(err), Err: err}
}

// notFound is seed 002's answer about a run that does not run.
func notFound(id string) error { return wireError(wire.RunNotFound(id)) }

// wireError is an error in the words of the wire.
func wireError(e *wire.Error) error { return &Error{Code: e.Code, Message: e.Message} }

// ErrDraining says that the daemon is shutting down.
var ErrDraining = errors.New("the daemon is shutting down and starts no runs")

func draining(code wire.Code) error {
	return &Error{Code: code, Message: ErrDraining.Error(), Tip: "try again when it runs again", Err: ErrDraining}
}

func refuse(code wire.Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
