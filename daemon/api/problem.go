package api

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Problem is the answer to a request that failed (RFC 9457), as application/problem+json.
// It is the error that the daemon's handlers return, and that daemon/client returns.
type Problem struct {
	Type     string `json:"type" jsonschema:"urn:holdfast:problem: and the code"`
	Title    string `json:"title" jsonschema:"what such problems have in common"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty" jsonschema:"what is wrong here"`
	Instance string `json:"instance,omitempty" jsonschema:"the path that was asked for"`
	Code     string `json:"code" jsonschema:"as in docs/reference/errors.md"`
	Advice   string `json:"hint,omitempty" jsonschema:"what to do about it"`
	Field    string `json:"field,omitempty" jsonschema:"of the settings of a workspace: what cannot be used, such as mounts[0].at"`

	// Winner is the answer that counts, where somebody answered a question before.
	Winner *approval.Answer `json:"winner,omitempty"`

	Cause error `json:"-"` // the error behind it, in the daemon
}

// Error is the detail, or what there is instead.
func (p *Problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return "the daemon answers: " + p.Title
	}
	return fmt.Sprintf("the daemon answers with status %d", p.Status)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Hint says what to do about it, or is "".
func (p *Problem) Hint() string { return p.Advice }

// Outcome is how a program ends on it.
func (p *Problem) Outcome() outcome.Outcome {
	if o, ok := outcome.ByCode(p.Code); ok {
		return o
	}
	return outcome.Failed
}

// Is reports whether a problem stands for a target: [approval.ErrAnswered] where there is a
// winner.
func (p *Problem) Is(target error) bool {
	return target == approval.ErrAnswered && p.Winner != nil
}
