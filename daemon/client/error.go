package client

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// ErrNoDaemon says that no daemon is there.
var ErrNoDaemon = errors.New("no daemon is running")

// Error is a request that got no answer: the daemon is gone, or the connection broke.
type Error struct {
	Op      string // "GET /v1/info"
	Address string
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the daemon at %s does not answer (%s): %v", e.Address, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return "holdfast daemon status" }

// versionError says that the daemon speaks another version of the interface.
type versionError struct {
	Address  string
	Version  string // of the daemon's program
	Protocol int    // that it speaks
}

func (e *versionError) Error() string {
	return fmt.Sprintf("the daemon at %s is of version %s and speaks protocol %d, this program speaks %d", e.Address, e.Version, e.Protocol, protocol)
}

// Hint says what to do about it.
func (e *versionError) Hint() string {
	return "start it again with this program (holdfast daemon stop), or go without it: --no-daemon"
}

// fatal reports whether the same request would fail again.
func fatal(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests && p.Status != http.StatusRequestTimeout
}
