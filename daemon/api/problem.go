package api

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Problem is the answer to a failed request (RFC 9457), as application/problem+json. It is
// the error type of the daemon's handlers and of daemon/client.
type Problem struct {
	Type     string `json:"type" jsonschema:"urn:holdfast:problem: followed by the code"`
	Title    string `json:"title" jsonschema:"short description of this type of problem"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty" jsonschema:"what is wrong with this request"`
	Instance string `json:"instance,omitempty" jsonschema:"path of the request"`
	Code     string `json:"code" jsonschema:"error code; docs/reference/errors.md lists all"`
	Advice   string `json:"hint,omitempty" jsonschema:"how to fix it"`
	Field    string `json:"field,omitempty" jsonschema:"for workspace settings: the invalid field, such as mounts[0].at"`

	// Winner is the answer in effect, if the approval was already answered.
	Winner *approval.Answer `json:"winner,omitempty"`

	Cause error `json:"-"` // the underlying error, only in the daemon
}

// Error returns the detail. If there is none, it returns the title or the status.
func (p *Problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return "the daemon reports: " + p.Title
	}
	return fmt.Sprintf("the daemon returned HTTP status %d", p.Status)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Hint returns how to fix the problem, or "".
func (p *Problem) Hint() string { return p.Advice }

// Outcome returns the outcome for the problem's code. The outcome includes the exit code of a
// program.
func (p *Problem) Outcome() outcome.Outcome {
	if o, ok := outcome.ByCode(p.Code); ok {
		return o
	}
	return outcome.Failed
}

// Is reports whether target is [approval.ErrAnswered] and the problem has a Winner.
func (p *Problem) Is(target error) bool {
	return target == approval.ErrAnswered && p.Winner != nil
}
