package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
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
	detail := strings.TrimSpace(strings.TrimPrefix(err.Error(), "Error response from daemon: "))
	switch {
	case ctx.Err() != nil:
		out.Err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		out.Err, out.Detail = ErrTimeout, e.host
		out.Advice = "look at the engine's log; restart it"
	case client.IsErrConnectionFailed(err), errors.Is(err, os.ErrPermission):
		return noEngine(e.host, err)
	case errdefs.IsNotFound(err) && strings.Contains(strings.ToLower(detail), "no such image"):
		out.Err, out.Advice = ErrNoImage, "holdfast workspace image build"
	case errdefs.IsNotFound(err):
		out.Err, out.Detail = ErrNotFound, unless(detail, "no such container")
	case errdefs.IsConflict(err):
		out.Err, out.Detail = ErrConflict, detail
	case errdefs.IsInvalidArgument(err), errdefs.IsPermissionDenied(err), errdefs.IsInternal(err),
		errdefs.IsUnauthorized(err), errdefs.IsNotImplemented(err), errdefs.IsUnavailable(err):
		out.Err, out.Detail = ErrRefused, detail
	}
	return out
}

// unless leaves out a detail that repeats the contract.
func unless(detail, said string) string {
	if strings.Contains(strings.ToLower(detail), said) {
		return ""
	}
	return detail
}
