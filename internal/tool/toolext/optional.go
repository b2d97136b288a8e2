// Package toolext defines optional interfaces of tools, which the agent detects by type assertion. Only
// the tools of this project need them.
package toolext

import (
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// NoApproval is a [tool.Tool] whose calls may run without an approval: another program has started them
// and only reports them.
type NoApproval interface {
	// RunsWithoutApproval returns the program that runs a call without an approval, or "" if the
	// call needs one. Such a call is recorded as allowed by that program. If the policy denies it,
	// the call is stopped as far as this is possible.
	RunsWithoutApproval(call *tool.Call) string
}

// Voidable is a [tool.Tool] whose calls can become void while they wait for an answer. That happens
// when the program that requested them ends.
type Voidable interface {
	// Void returns a channel that is closed when a call can no longer run, or nil. It also returns
	// a function that returns the reason.
	Void(call *tool.Call) (lapsed <-chan struct{}, why func() string)
}

// DenialWriter is a [tool.Tool] with its own text for denied calls.
type DenialWriter interface {
	// Denial returns the text that the model reads instead of a result; "" means the default text.
	// d.PersonAsked reports whether the user was asked; d.Reason contains the user's text.
	Denial(call *tool.Call, d policy.Decision) string
}

// FileRecaller is a [tool.Tool] that remembers which files its model has read.
type FileRecaller interface {
	// RestoreFiles is called when a session is resumed, with the files that its transcript shows.
	// If a call of the tool has read one of them in the meantime, the newer state takes precedence.
	RestoreFiles(seen []record.FileShown)
}

// Checker is a [tool.Tool] that can detect, before the approval, that a call would fail.
type Checker interface {
	// Check returns the reason why a call would fail, for the model to read, or nil. It changes
	// nothing.
	Check(call *tool.Call) error
}
