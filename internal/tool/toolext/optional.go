// Package toolext holds what an agent looks for in a tool besides [tool.Tool]. Only the
// tools of this project need these interfaces.
package toolext

import (
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// NoApproval is a [tool.Tool] whose calls may run without anybody being asked: another program
// has begun them, and only tells.
type NoApproval interface {
	// RunsWithoutApproval says who runs a call without asking, and "" of one that is asked about. Such
	// a call is recorded as allowed by him; a deny still is one, and ends what it can.
	RunsWithoutApproval(call *tool.Call) string
}

// Voidable is a [tool.Tool] whose calls can become void while they wait for an answer: whoever
// asked for them has ended.
type Voidable interface {
	// Void returns a channel that is closed when a call cannot run any more, or nil, and
	// what says why then.
	Void(call *tool.Call) (lapsed <-chan struct{}, why func() string)
}

// DenialWriter is a [tool.Tool] that words the refusal of its calls itself.
type DenialWriter interface {
	// Denial is what the model reads instead of a call's result; "" is the usual text.
	// Asked, of the decision, tells whether a person has said no; Reason is what he said.
	Denial(call *tool.Call, d policy.Decision) string
}

// FileRecaller is a [tool.Tool] that remembers which files its model has seen.
type FileRecaller interface {
	// RestoreFiles is told, when a session is gone on with, which files its transcript shows. What
	// was seen since, by other calls of the tool, counts more.
	RestoreFiles(seen []record.FileShown)
}

// Checker is a [tool.Tool] that knows before a person is asked that a call would fail.
type Checker interface {
	// Check says why a call would fail, for the model to read, or nil. It changes nothing.
	Check(call *tool.Call) error
}
