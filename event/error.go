package event

import (
	"cmp"
	"errors"
	"fmt"
)

// Error is an error in an event: the message, a hint, and the outcome code that decides the exit
// code.
type Error struct {
	Message string `json:"message"`
	Advice  string `json:"hint,omitempty"`
	Code    string `json:"code,omitempty"` // the outcome code; see docs/reference/exit-codes.md

	// Set only if a hook blocked a prompt or ended a turn:
	HookEvent  string `json:"hook_event,omitempty"` // such as "UserPromptSubmit"
	Hook       string `json:"hook,omitempty"`
	HookReason string `json:"hook_reason,omitempty"`

	Cause error `json:"-"` // the original error; nil if it was read from JSON
}

// Error returns Message or, if it is empty, a text about the hook.
func (e *Error) Error() string {
	if e.Message == "" && e.HookEvent != "" {
		return cmp.Or(e.HookReason, fmt.Sprintf("stopped by the %s hook %s", e.HookEvent, e.Hook))
	}
	return e.Message
}

// Hint returns what to do about the error, or "".
func (e *Error) Hint() string { return e.Advice }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// errorOf converts an error to an Error; nil stays nil.
func errorOf(err error) *Error {
	if err == nil {
		return nil
	}
	e := Error{Message: err.Error(), Cause: err}
	if converted, ok := errors.AsType[*Error](err); ok {
		e = *converted
		e.Message = converted.Error()
	} else if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		e.Advice = h.Hint()
	}
	return &e
}

// err returns e as an error; a nil e is a nil error.
func (e *Error) err() error {
	if e == nil {
		return nil
	}
	return e
}

// Err returns the error in an event, or nil.
func Err(e Event) error {
	switch e := e.(type) {
	case ModelRetrying:
		return e.Err
	case ModelSwitched:
		return e.Err
	case ModelFinished:
		return e.Err
	case TurnFinished:
		return e.Err
	case Result:
		return e.Err
	case SubagentEvent:
		return Err(e.Event)
	}
	return nil
}

// WithErr returns the event with another error, or the event itself if its type has none.
func WithErr(e Event, err error) Event {
	switch e := e.(type) {
	case ModelRetrying:
		e.Err = err
		return e
	case ModelSwitched:
		e.Err = err
		return e
	case ModelFinished:
		e.Err = err
		return e
	case TurnFinished:
		e.Err = err
		return e
	case Result:
		e.Err = err
		return e
	case SubagentEvent:
		e.Event = WithErr(e.Event, err)
		return e
	}
	return e
}
