package client

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// ErrNoDaemon means that no daemon is running.
var ErrNoDaemon = errors.New("no daemon is running")

// Error means that a request got no answer: the daemon ended, or the connection broke.
type Error struct {
	Op      string // such as "GET /v1/info"
	Address string
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the daemon at %s does not answer (%s): %v", e.Address, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns a command to run.
func (e *Error) Hint() string { return "holdfast daemon status" }

// versionError means that the daemon has a different protocol version.
type versionError struct {
	Address  string
	Version  string // of the daemon's program
	Protocol int    // of the daemon
}

func (e *versionError) Error() string {
	return fmt.Sprintf("the daemon at %s has version %s with protocol %d, but this program needs protocol %d", e.Address, e.Version, e.Protocol, protocol)
}

// Hint returns how to fix it.
func (e *versionError) Hint() string {
	return "restart the daemon with this program (holdfast daemon stop), or do not use it: --no-daemon"
}

// isFatal reports whether the request would fail again if it were repeated.
func isFatal(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests && p.Status != http.StatusRequestTimeout
}
