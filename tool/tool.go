// Package tool says what a tool is: a name, a schema, something it would touch,
// and a function.
//
//	Registry ──Lookup──► Tool ──Requests──► policy ──► Run ──► Result
//
// [New] makes a tool from a Go function: the input schema is inferred from the
// function's input type and every call is checked against it, so a bad input
// from a model becomes an error result and never reaches the function.
//
//	echo, err := tool.New(tool.Spec{Name: "Echo"}, run, nil)
//	registry, err := tool.NewRegistry(echo)
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
	// Spec describes the tool. It does no I/O and always returns the same.
	Spec() Spec

	// Requests says what running the call would touch, without touching it. An
	// error means that the input makes no sense; its text goes to the model.
	Requests(call *Call) ([]policy.Request, error)

	// Run runs the call. A failure that the model should see (a missing file, a
	// command that exits 1) is a Result with IsError; an error means that the
	// tool itself broke, and is told to the model as "tool execution failed".
	Run(ctx context.Context, call *Call) (Result, error)
}

// Detacher is a [Tool] whose calls may go on in the background, where the agent has one.
type Detacher interface {
	// Detach says how long a call may hold its turn up. Then it goes on in the
	// background and the turn without it: 0 is at once, negative is never.
	Detach(call *Call) time.Duration
	// Awaited reports whether the work is not done while a call goes on in the background.
	// One that is not awaited is left behind, as a server is that somebody has started.
	Awaited(call *Call) bool
}

// Spec describes a tool to a model and to a policy.
type Spec struct {
	Name        string
	Description string
	Input       json.RawMessage // a JSON Schema object
	ReadOnly    bool            // it changes nothing; calls may run side by side
}

// ErrUndecided is what Ask and Fill of a [Call] say when the no is nobody's: there was
// nobody to ask, he did not answer in time, or the turn was ended.
var ErrUndecided = errors.New("nobody has decided")

// Call is one use of a tool.
type Call struct {
	ID      string
	Session string
	Tool    string
	Input   json.RawMessage
	// Resumed: the call was approved, then the program was restarted, and what it
	// would touch still is as it was shown. Where the log does not tell that the model
	// has read it, the approval stands for that.
	Resumed bool
	// OriginalInput is the input that a person was asked about who has put Input in its place; nil
	// when nobody has. No model, hook or policy sets it.
	OriginalInput json.RawMessage

	// Ask asks for one more effect that only shows while the call runs, such as a
	// connection; nil is a yes, an error says why not. It waits for whoever decides,
	// until ctx or the call ends, and may be called from any goroutine. Nil: nobody
	// can be asked, which is a no.
	Ask func(ctx context.Context, r policy.Request) error

	// Fill puts a form to a person: r.Input is an object that is shown, and what it returns
	// is the one that he has put in its place, with content that fits its schema. No model,
	// hook or policy gives it. An error is a no, and [ErrUndecided] when nobody has decided.
	// Otherwise it is as Ask.
	Fill func(ctx context.Context, r policy.Request) (json.RawMessage, error)

	// Save keeps what a file is, durably, before the call changes it; nil: nobody keeps it.
	// A call whose Save fails changes nothing. It may be called from any goroutine.
	Save func(ctx context.Context, before Image) error

	// Output takes what the call has to show before it has ended, for whoever looks at it
	// meanwhile; nil: nobody does. It is for one goroutine at a time.
	Output io.Writer
}

// Result is what a call came to. In JSON, an event has its Content as an array of parts.
type Result struct {
	Content    []transcript.Part  `json:"-"` // Text, Media, File or Structured
	IsError    bool               `json:"is_error,omitempty"`
	ExitCode   *int               `json:"exit_code,omitempty"` // of a command
	Notes      []string           `json:"notes,omitempty"`     // for the person who watches: what a sandbox refused. The model reads them in Content
	Changes    []FileChange       `json:"changes,omitempty"`   // files that the tool has changed
	FilesShown []record.FileShown `json:"seen,omitempty"`      // files that Content shows, or a part of them, by the SHA-256 of their whole content
	Cwd        string             `json:"cwd,omitempty"`       // the current directory from now on, when the call has changed it
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

// FileChange is what became of a file that a tool has changed. Before and After are
// SHA-256 of its content, in hexadecimal, or "absent".
type FileChange = record.FileChange
