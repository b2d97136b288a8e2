// Package vendor says what an agent of another make is to a workspace: a process
// that speaks its own wire.
//
//	Turn ─► Driver.Command ─► process in the container ◄─► Driver.Run ─► Sink ─► log
//	                                                          permission ─► Sink.Permit ─► guard, people
//
// A driver knows one wire and nothing else: no log, no container, no policy. What the
// vendor says reaches the sink in its order. The sink keeps it until it is durable, and
// shows and answers nothing before; the driver goes on reading meanwhile.
package vendor

import (
	"context"
	"encoding/json"
	"io"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Driver speaks one vendor's wire.
type Driver interface {
	// Name is the vendor's, as the log has it: "claude", "codex", "acp".
	Name() string
	// Command says how the process of a turn is started in the container.
	Command(t Turn) Command
	// Run leads a started process through one turn. It returns when the vendor has said
	// that the turn is over, or the wire broke (an error: [io.ErrUnexpectedEOF] when the
	// process fell silent), and after every goroutine of its own has ended. It does not
	// wait for the process. When ctx ends, the process is killed by whoever started it,
	// so that reads end; a driver need not watch ctx but in Permit.
	Run(ctx context.Context, t Turn, p Process, s Sink) (End, error)
	// Transcript is the path of the file that the vendor keeps of a session, relative to
	// the agent's home and with slashes; "" when resuming needs no file of a known path.
	// In an element of it "*" stands for any text: the file is one that fits.
	Transcript(session, dir string) string
}

// CostReporter is a driver whose vendor says what a turn cost ([End].Cost).
type CostReporter interface{ ReportsCost() }

// Turn is what a vendor is asked to do.
type Turn struct {
	// Session is the vendor's id of the session: the one to resume, or the one that a
	// new session gets where the vendor lets others choose; "" lets it choose.
	Session string
	// Resume goes on with Session; without it the vendor begins a new one.
	Resume bool
	// Input is what the person said, with what the vendor has to know before it when
	// history is injected. Texts and images.
	Input  []transcript.Part
	Model  string // the vendor's name of it, "" is its default
	System string // added to the vendor's system prompt
	Dir    string // in the container, absolute
	Home   string // the agent's home in the container, absolute
	// Env are variables for this process alone, credentials among them: "NAME=value".
	Env []string
}

// Command is how a process is started.
type Command struct {
	Args []string // Args[0] is looked up in the image's PATH
	Env  []string // besides those of the turn
}

// Process is a vendor's process that runs.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader // no limit of line length
	Stderr() string    // the last 8 KiB of what it wrote there
}

// Sink takes what a turn yields. All methods but Permit are called by one goroutine, in
// the vendor's order, and return at once; an error ends the turn.
type Sink interface {
	// SessionStarted is told the vendor's id of the session once the vendor has confirmed it.
	SessionStarted(session string) error
	// Delta is a piece of text or thinking that is still coming. Each is what was added,
	// never a repetition of what was there.
	Delta(d Delta) error
	// Running says that the vendor runs a tool use without asking. It comes before the
	// item with the use; uses without it are asked about with Permit before they run.
	Running(use string) error
	// Item is a whole assistant item, or an item of any role with tool results. A tool
	// use comes before the tool runs, and before Permit is called for it. Ids of uses
	// need to be unique within the turn only.
	Item(it transcript.Item) error
	// Permit asks whether a tool may run, and returns when that is decided, or with an
	// error when ctx ends (the vendor has withdrawn the question). It is called on a
	// goroutine of its own: the driver must go on reading, because what decides may
	// wait for the result of another use first.
	Permit(ctx context.Context, p Permission) (Answer, error)
	// Notice is something a person may want to know: a rate limit, a line that was no
	// message, an event of a kind that is not known.
	Notice(text string) error
}

// Delta is a piece of what is still coming: one of the fields is set.
type Delta struct {
	Text, Thinking string
}

// Permission is a vendor's question whether a tool may run.
type Permission struct {
	// Use is the id of the tool use. One that no item had is a sub-agent's, or of an
	// effect that a running tool wants besides: it is judged as part of Parent, or of a
	// use that runs.
	Use    string
	Parent string
	Tool   string          // the vendor's name of it: "Bash", "Write", "exec_command"
	Input  json.RawMessage // the tool's arguments, in the shape of the field's tools (Bash: command; Write: file_path, content; …)
	// Detail is what else the vendor says about it, for the person.
	Detail string
}

// Answer is what was decided.
type Answer struct {
	Allow   bool
	Input   json.RawMessage // instead of the asked-for arguments; nil: as they were
	Message string          // why not, for the model
	// Interrupt ends the turn besides refusing.
	Interrupt bool
}

// End is how a turn ended.
type End struct {
	Text  string // the last answer
	Usage transcript.Usage
	Cost  float64 // in US dollars, 0 when the vendor does not say
	Turns int     // model calls, 0 when the vendor does not say
	// Failure is what the vendor calls an error of the turn: "" when it completed.
	// ResumeFailed says that the session that was to be resumed is the reason (it is not
	// there, is not to be read, does not fit any more), so that a new one may do better.
	Failure      string
	ResumeFailed bool
}
