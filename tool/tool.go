// Package tool defines tools. A tool has a name, an input schema, the permission requests of a
// call, and the function to run.
//
//	Registry ──Lookup──► Tool ──Requests──► policy ──► Run ──► Result
//
// [New] makes a tool from a Go function. It infers the input schema from the function's input type
// and checks every call against it. An invalid input from a model therefore becomes an error result
// and never reaches the function.
//
//	echo, err := tool.New(tool.Spec{Name: "Echo"}, run, nil)
//	registry, err := tool.NewRegistry(echo)
//
// The package makes no decisions about permissions (see package policy), and contains no tools.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Tool is something a model can call. It is safe for concurrent use.
type Tool interface {
	// Spec describes the tool. It does no I/O, and always returns the same value.
	Spec() Spec

	// Requests returns what the call would touch, without touching it. An error means that the
	// input is invalid; its text is sent to the model.
	Requests(call *Call) ([]policy.Request, error)

	// Run runs the call. A failure that the model should see (a missing file, a command that exits
	// with 1) is a Result with IsError. An error means that the tool itself failed; the model then
	// reads "tool execution failed".
	Run(ctx context.Context, call *Call) (Result, error)
}

// Detacher is a [Tool] whose calls can continue as background tasks, if the agent allows them.
type Detacher interface {
	// Detach returns how long a turn waits for a call before the call continues in the background.
	// If it is 0, the turn does not wait; if it is negative, the turn waits until the call ends.
	Detach(call *Call) time.Duration
	// Awaited reports whether the agent's work is complete only after the call has ended, although
	// the call runs in the background. A server, for example, is not awaited.
	Awaited(call *Call) bool
}

// Spec describes a tool to a model and to a policy.
type Spec struct {
	Name        string
	Description string
	Input       json.RawMessage // a JSON Schema object
	ReadOnly    bool            // it changes nothing, so calls may run in parallel
}

// ErrUndecided is the error of Ask and Fill of a [Call] if no person decided: no one was available,
// the request timed out, or the turn ended.
var ErrUndecided = errors.New("no one decided")

// Call is one use of a tool.
type Call struct {
	ID      string
	Session string
	Tool    string
	Input   json.RawMessage
	// Resumed is true if the call was approved before a restart and would still touch exactly what
	// the approver saw. If the log does not show that the model has read the file, the approval has
	// the same effect as reading it.
	Resumed bool
	// OriginalInput is the input that the approver saw, if the approver replaced it with Input;
	// otherwise it is nil. No model, hook or policy sets it.
	OriginalInput json.RawMessage

	// Ask requests permission for an effect that becomes known only while the call runs, such as a
	// connection. Nil means that the effect is allowed; an error contains the reason for the
	// denial. It waits for the decision until ctx or the call ends, and is safe for concurrent use.
	// If Ask is nil, there is no one to ask, and the effect is denied.
	Ask func(ctx context.Context, r policy.Request) error

	// Fill shows a form to the user. r.Input is the object to show. Fill returns the object that
	// the user has entered instead; its content matches the schema. No model, hook or policy can
	// answer it. If there is no such object, it returns an error: [ErrUndecided] if no person
	// decided. Otherwise it is like Ask.
	Fill func(ctx context.Context, r policy.Request) (json.RawMessage, error)

	// Save stores the content of a file durably before the call changes the file; nil if contents
	// are not stored. If Save fails, the call must change nothing. It is safe for concurrent use.
	Save func(ctx context.Context, before Image) error

	// Output gets the output of the call while the call runs, for readers of background tasks; nil if there are
	// no readers. Only one goroutine at a time may use it.
	Output io.Writer
}

// Result is the outcome of a call. In JSON, an event has its Content as an array of parts.
type Result struct {
	Content    []transcript.Part  `json:"-"` // Text, Media, File or Structured
	IsError    bool               `json:"is_error,omitempty"`
	ExitCode   *int               `json:"exit_code,omitempty"` // of a command
	Notes      []string           `json:"notes,omitempty"`     // for the user: what the sandbox refused; Content tells it to the model
	Changes    []FileChange       `json:"changes,omitempty"`   // files that the tool changed
	FilesShown []record.FileShown `json:"seen,omitempty"`      // the files that the model sees in Content, completely or in part; each with the SHA-256 of the whole file
	Cwd        string             `json:"cwd,omitempty"`       // the new current directory, if the call has changed it
}

// Text returns a result of one text.
func Text(s string) Result {
	return Result{Content: []transcript.Part{transcript.Text{Text: s}}}
}

// Failure returns an error result of one text.
func Failure(s string) Result {
	r := Text(s)
	r.IsError = true
	return r
}

// FileChange describes a file that a tool changed. Before and After are the SHA-256 of its content,
// in hexadecimal, or "absent".
type FileChange = record.FileChange
