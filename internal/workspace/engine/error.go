package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// The contracts of this package's errors. They are wrapped in an [*Error].
var (
	ErrNoEngine = errors.New("no container engine answers") // there is none, or none that may be used
	ErrNotFound = errors.New("no such container")
	ErrConflict = errors.New("not possible in the state it is in") // a name that is taken, a removal under way
	ErrNoImage  = errors.New("no such image")
	ErrRefused  = errors.New("the engine refuses") // it does not take what it was asked for
	ErrTimeout  = errors.New("the engine takes too long")
)

// Error is what did not work with an engine.
type Error struct {
	Op     string // "create container", "build image", …
	Name   string // of the container or image, may be empty
	Detail string // what the engine says, may be empty
	Advice string // what to do about it, may be empty
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

// Unwrap gives the contract.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do about it, or "".
func (e *Error) Hint() string { return e.Advice }

// fail turns an error of the client into one of ours. The context is the caller's, to
// tell its end from the limit of a call.
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
		out.Advice = "look at the engine's log; restart it"
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

// status is the status of an answer that is no success, or 0.
func status(err error) int {
	if no, ok := errors.AsType[*statusError](err); ok {
		return no.code
	}
	return 0
}

// unless leaves out a detail that repeats the contract.
func unless(detail, said string) string {
	if strings.Contains(strings.ToLower(detail), said) {
		return ""
	}
	return detail
}
