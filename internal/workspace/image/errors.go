package image

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// The contracts of this package's errors. They are wrapped in an [*Error].
var (
	ErrInvalid = errors.New("cannot be built")                 // the [Spec] says so
	ErrBinary  = errors.New("not a static holdfast for Linux") // the program of the image
	ErrNoBase  = errors.New("no base to make the image of")    // none in the engine, and none can be made
	ErrPackage = errors.New("the package is not to be had")    // of an agent
	ErrNoImage = engine.ErrNoImage                             // as the engine says it
)

// Error is what did not work with an image; Name is that of the image or of a file. It reads like an error
// of the engine.
type Error engine.Error

func (e *Error) Error() string { return (*engine.Error)(e).Error() }

// Unwrap gives the contract.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do about it, or "".
func (e *Error) Hint() string { return e.Advice }

// Outcome is how a command ends that meets the error.
func (e *Error) Outcome() outcome.Outcome {
	switch {
	case errors.Is(e.Err, ErrInvalid), errors.Is(e.Err, ErrBinary), errors.Is(e.Err, ErrNoBase):
		return outcome.Usage
	case errors.Is(e.Err, engine.ErrNoEngine), errors.Is(e.Err, ErrNoImage):
		return outcome.NoEngine
	}
	return outcome.FromError(e.Err)
}
