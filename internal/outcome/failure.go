package outcome

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Failure is an error for a person: what is wrong, what to do about it, and the outcome
// that it stands for.
type Failure struct {
	Message string
	Advice  string // what to do; may be ""
	Result  Outcome
	Cause   error // may be nil
}

// Error is Message.
func (f *Failure) Error() string { return f.Message }

// Hint is Advice.
func (f *Failure) Hint() string { return f.Advice }

// Outcome is Result.
func (f *Failure) Outcome() Outcome { return f.Result }

// Unwrap is Cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Invalid is the failure of a command line or a request that makes no sense.
func Invalid(message, hint string) error {
	return &Failure{Message: message, Advice: hint, Result: Usage}
}

// NoSandbox is the failure of a run whose sandbox could not be opened.
func NoSandbox(err error) error {
	hint := Hint(err)
	if _, ok := errors.AsType[*sandbox.OpenError](err); !ok || hint == "" || errors.Is(err, kernel.ErrUnsupported) {
		hint = "holdfast doctor says what is missing; --no-sandbox runs commands without it"
	}
	return &Failure{Message: "the sandbox cannot hold commands here: " + err.Error(), Advice: hint, Result: Sandbox, Cause: err}
}
