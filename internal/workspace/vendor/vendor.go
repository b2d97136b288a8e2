// Package vendor defines the driver interface for vendor agents: programs that run in a workspace and speak their
// own protocol.
//
//	Turn ─► Driver.Command ─► process in the container ◄─► Driver.Run ─► Sink ─► log
//	                                                          permission ─► Sink.Permit ─► guard, approvers
//
// A driver knows one protocol and nothing else: no log, no container, no policy. It passes the vendor's output to
// the sink in order. The sink stores it durably before it shows or answers anything; the driver continues to read
// meanwhile.
package vendor

import (
	"context"
	"encoding/json"
	"io"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Driver speaks one vendor's protocol.
type Driver interface {
	// Name is the vendor's name in the log: "claude", "codex", "acp".
	Name() string
	// Command returns how to start the process of a turn in the container.
	Command(t Turn) Command
	// Run runs one turn of a started process. It returns after the vendor has ended the turn or the
	// connection was lost, and after all its goroutines have ended. A lost connection is an error:
	// [io.ErrUnexpectedEOF] if the output ended. Run does not wait for the process. When ctx ends,
	// the caller kills the process, so that reads end; a driver needs to watch ctx only in Permit.
	Run(ctx context.Context, t Turn, p Process, s Sink) (End, error)
	// Transcript returns the path of the vendor's session file, relative to the agent's home and
	// with slashes. It returns "" if a resume needs no file, or if the path is unknown. In a path
	// element "*" matches any text; the session file is then a file that matches.
	Transcript(session, dir string) string
}

// CostReporter is a driver whose vendor reports the cost of a turn ([End].Cost).
type CostReporter interface{ ReportsCost() }

// Turn is the input of a vendor's turn.
type Turn struct {
	// Session is the vendor's session id: the one to resume, or one for a new session if the vendor accepts ids;
	// "" lets the vendor choose.
	Session string
	// Resume resumes Session; otherwise the vendor starts a new one.
	Resume bool
	// Input is the user's input. The history comes before it, as text, if the vendor's session does
	// not contain it. Input contains texts and images.
	Input  []transcript.Part
	Model  string // name of the model as the vendor knows it; "" is the vendor's default
	System string // added to the vendor's system prompt
	Dir    string // in the container, absolute
	Home   string // the agent's home in the container, absolute
	// Env are variables for this process only, including credentials: "NAME=value".
	Env []string
}

// Command says how to start a process.
type Command struct {
	Args []string // Args[0] is looked up in the image's PATH
	Env  []string // added to those of the turn
}

// Process is a running process of a vendor.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader // no limit of line length
	Stderr() string    // the last 8 KiB of its standard error
}

// Sink receives the output of a turn. All methods except Permit are called by one goroutine, in the vendor's
// order, and return at once; an error ends the turn.
type Sink interface {
	// SessionStarted receives the vendor's session id once the vendor has confirmed it.
	SessionStarted(session string) error
	// Delta receives a piece of streaming text or thinking: only what was added, never a repetition.
	Delta(d Delta) error
	// Running reports that the vendor runs a tool use without asking. It comes before the item with the use. For
	// all other uses Permit is called before they run.
	Running(use string) error
	// Item receives a complete assistant item, or an item of any role with tool results. A tool use comes before
	// the tool runs, and before Permit is called for it. Use ids need to be unique only within the turn.
	Item(it transcript.Item) error
	// Permit requests a decision whether a tool may run. It returns when that is decided, or with an error when
	// ctx ends (the vendor has withdrawn the request). It is called on a separate goroutine: the driver must
	// continue to read, because the decision may depend on the result of another use.
	Permit(ctx context.Context, p Permission) (Answer, error)
	// Notice receives information for the user: a rate limit, an invalid line, an unknown event type.
	Notice(text string) error
}

// Delta is a piece of streaming output: exactly one field is set.
type Delta struct {
	Text, Thinking string
}

// Permission is a vendor's permission request for a tool.
type Permission struct {
	// Use is the id of the tool use. An unknown id belongs to a sub-agent's use or to an additional effect of a
	// running tool: it is decided as part of Parent, or of a running use.
	Use    string
	Parent string
	Tool   string          // the vendor's name of the tool: "Bash", "Write", "exec_command"
	Input  json.RawMessage // the tool's arguments, in the form of Claude Code's tools (Bash: command; Write: file_path, content; …)
	// Detail is additional information from the vendor, for the approver.
	Detail string
}

// Answer is the decision.
type Answer struct {
	Allow   bool
	Input   json.RawMessage // replaces the requested arguments; nil: unchanged
	Message string          // the reason for a denial, for the model
	// Interrupt ends the turn in addition to the denial.
	Interrupt bool
}

// End is how a turn ended.
type End struct {
	Text  string // the last answer
	Usage transcript.Usage
	Cost  float64 // in US dollars, 0 if the vendor does not report it
	Turns int     // model calls, 0 if the vendor does not report it
	// Failure is the vendor's error of the turn: "" when it completed. ResumeFailed says that the resumed session
	// is the reason (it is missing, unreadable or does not match any more), so that a new one may succeed.
	Failure      string
	ResumeFailed bool
}
