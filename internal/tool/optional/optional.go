// Package optional holds what an agent looks for in a tool besides [tool.Tool]. Only the
// tools of this project need these interfaces.
package optional

import (
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// Unasked is a [tool.Tool] whose calls may run without anybody being asked: another program
// has begun them, and only tells.
type Unasked interface {
	// Unasked says who runs a call without asking, and "" of one that is asked about. Such
	// a call is recorded as allowed by him; a deny still is one, and ends what it can.
	Unasked(call *tool.Call) string
}

// Lapser is a [tool.Tool] whose calls can become void while they wait for an answer: whoever
// asked for them has ended.
type Lapser interface {
	// Lapse returns a channel that is closed when a call cannot run any more, or nil, and
	// what says why then.
	Lapse(call *tool.Call) (lapsed <-chan struct{}, why func() string)
}

// Refuser is a [tool.Tool] that words the refusal of its calls itself.
type Refuser interface {
	// Refusal is what the model reads instead of a call's result; "" is the usual text.
	// Asked, of the decision, tells whether a person has said no; Reason is what he said.
	Refusal(call *tool.Call, d policy.Decision) string
}

// Recaller is a [tool.Tool] that remembers which files its model has seen.
type Recaller interface {
	// Recall is told, when a session is gone on with, which files its transcript shows. What
	// was seen since, by other calls of the tool, counts more.
	Recall(seen []record.ShownFile)
}

// Checker is a [tool.Tool] that knows before a person is asked that a call would fail.
type Checker interface {
	// Check says why a call would fail, for the model to read, or nil. It changes nothing.
	Check(call *tool.Call) error
}
