package image

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Errors of this package, wrapped in an [*Error].
var (
	ErrInvalid = errors.New("cannot be built")                 // the [Spec] is invalid
	ErrBinary  = errors.New("not a static holdfast for Linux") // the program of the image
	ErrNoBase  = errors.New("no base image")                   // the engine has no base image, and none can be built
	ErrPackage = errors.New("the package is not available")    // of an agent
	ErrNoImage = engine.ErrNoImage
)

// Error is an error of an image operation. Name is the name of the image or of a file. The text has
// the format of an engine error.
type Error engine.Error

func (e *Error) Error() string { return (*engine.Error)(e).Error() }

// Unwrap returns the sentinel error.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns how to fix the error, or "".
func (e *Error) Hint() string { return e.Advice }

// Outcome returns the exit outcome of a command that fails with the error.
func (e *Error) Outcome() outcome.Outcome {
	switch {
	case errors.Is(e.Err, ErrInvalid), errors.Is(e.Err, ErrBinary), errors.Is(e.Err, ErrNoBase):
		return outcome.Usage
	case errors.Is(e.Err, engine.ErrNoEngine), errors.Is(e.Err, ErrNoImage):
		return outcome.NoEngine
	}
	return outcome.FromError(e.Err)
}
