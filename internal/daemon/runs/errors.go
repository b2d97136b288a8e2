package runs

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Error is an error with the code that clients receive.
type Error struct {
	Code    wire.Code
	Message string
	Tip     string // how to fix the problem, or ""
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns how to fix the error, or "".
func (e *Error) Hint() string { return e.Tip }

// withCode wraps err with a code; nil stays nil.
func withCode(code wire.Code, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: code, Message: e.Message, Tip: e.Tip, Err: err}
	}
	return &Error{Code: code, Message: err.Error(), Tip: outcome.Hint(err), Err: err}
}

// notFound returns the error that the Open Agent SDK has for a run that is not running.
func notFound(id string) error { return wireError(wire.RunNotFound(id)) }

// wireError converts an error of package wire.
func wireError(e *wire.Error) error { return &Error{Code: e.Code, Message: e.Message} }

// ErrDraining reports that the daemon is shutting down.
var ErrDraining = errors.New("the daemon is shutting down and starts no runs")

func draining(code wire.Code) error {
	return &Error{Code: code, Message: ErrDraining.Error(), Tip: "try again when it runs again", Err: ErrDraining}
}

func refuse(code wire.Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
