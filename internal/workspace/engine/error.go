package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// These are the errors of this package. They are wrapped in an [*Error].
var (
	ErrNoEngine = errors.New("no container engine answers") // there is no engine, or none that can be used
	ErrNotFound = errors.New("no such container")
	ErrConflict = errors.New("not possible in its current state") // a name in use, or a removal in progress
	ErrNoImage  = errors.New("no such image")
	ErrRefused  = errors.New("rejected by the engine") // the request is invalid
	ErrTimeout  = errors.New("the engine did not answer in time")
)

// Error is an error of an engine call.
type Error struct {
	Op     string // "create container", "build image", …
	Name   string // name of the container or image, may be empty
	Detail string // the engine's message, may be empty
	Advice string // how the user can fix it, may be empty
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Name != "" {
		b.WriteString(" " + e.Name)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap returns the sentinel error.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns how to fix the error, or "".
func (e *Error) Hint() string { return e.Advice }

// fail converts a client error to an [*Error]. ctx is the context of the caller. It is needed to
// distinguish the end of this context from the time limit of the call.
func (e *Engine) fail(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	out := &Error{Op: op, Name: name, Err: err}
	_, unanswered := errors.AsType[connectError](err)
	no, answered := errors.AsType[*statusError](err)
	switch {
	case ctx.Err() != nil:
		out.Err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		out.Err, out.Detail = ErrTimeout, e.host
		out.Advice = "check the engine's log, or restart the engine"
	case unanswered, errors.Is(err, os.ErrPermission):
		return noEngine(e.host, err)
	case !answered:
	case no.code == http.StatusNotFound && strings.Contains(strings.ToLower(no.text), "no such image"):
		out.Err, out.Advice = ErrNoImage, "holdfast workspace image build"
	case no.code == http.StatusNotFound:
		out.Err, out.Detail = ErrNotFound, unless(no.text, "no such container")
	case no.code == http.StatusConflict:
		out.Err, out.Detail = ErrConflict, no.text
	default:
		out.Err, out.Detail = ErrRefused, no.text
	}
	return out
}

// status returns the status of a response that does not report success, or 0 if there is none.
func status(err error) int {
	if no, ok := errors.AsType[*statusError](err); ok {
		return no.code
	}
	return 0
}

// unless returns the detail, or "" if the detail only repeats the error.
func unless(detail, text string) string {
	if strings.Contains(strings.ToLower(detail), text) {
		return ""
	}
	return detail
}
