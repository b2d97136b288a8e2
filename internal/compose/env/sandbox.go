package env

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// NoSandboxError returns the error of a run whose sandbox could not be opened.
func NoSandboxError(err error) error {
	hint := outcome.Hint(err)
	if _, ok := errors.AsType[*sandbox.Error](err); !ok || hint == "" || errors.Is(err, kernel.ErrUnsupported) {
		hint = "run holdfast doctor to see what is missing; --no-sandbox runs commands without it"
	}
	return &outcome.Failure{Message: "the sandbox cannot confine commands here: " + err.Error(), Advice: hint, Result: outcome.Sandbox, Cause: err}
}
