package client

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// ErrNone says that no daemon is there.
var ErrNone = errors.New("no daemon is running")

// Error is a request that got no answer: the daemon is gone, or the connection broke.
type Error struct {
	Op    string // "GET /v1/info"
	Place string
	Err   error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the daemon at %s does not answer (%s): %v", e.Place, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return "holdfast daemon status" }

// VersionError says that the daemon speaks another version of the interface.
type VersionError struct {
	Place    string
	Version  string // of the daemon's program
	Protocol int    // that it speaks
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the daemon at %s is of version %s and speaks protocol %d, this program speaks %d", e.Place, e.Version, e.Protocol, Protocol)
}

// Hint says what to do about it.
func (e *VersionError) Hint() string {
	return "start it again with this program (holdfast daemon stop), or go without it: --no-daemon"
}

// Problem is an answer that is no success (RFC 9457).
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	Code     string `json:"code"` // docs/cli.md and docs/http.md list them
	Advice   string `json:"hint"`

	// Winner is the answer that counts, where somebody was faster with another one.
	Winner *approval.Answer `json:"winner"`
}

func (p *Problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return "the daemon answers: " + p.Title
	}
	return fmt.Sprintf("the daemon answers with status %d", p.Status)
}

// Hint says what to do about it, or is "".
func (p *Problem) Hint() string { return p.Advice }

// Outcome is how a program ends on it.
func (p *Problem) Outcome() outcome.Outcome {
	if o, ok := outcome.ByCode(p.Code); ok {
		return o
	}
	return outcome.Failed
}

// Is compares with the errors that a problem stands for: [approval.ErrAnswered] where
// there is a winner.
func (p *Problem) Is(target error) bool {
	return target == approval.ErrAnswered && p.Winner != nil
}

// fatal reports whether the same request would fail again.
func fatal(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests && p.Status != http.StatusRequestTimeout
}
