package record

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// ToolStarted says that a tool call runs. It is the payload of a record of [KindToolStarted], which
// is on disk before the tool runs, and the event that is made of it.
type ToolStarted struct {
	Use  string `json:"use_id"`
	Tool string `json:"tool"`
	// Input is what the tool runs with: a policy or a person may have changed what the model
	// wrote. Only an event has it; other records of the log say it.
	Input json.RawMessage `json:"input,omitempty"`
}

// Type returns the name of the event in JSON.
func (ToolStarted) Type() string { return "tool_started" }

// ToolFinished says how a tool call ended. It is the payload of a record of [KindToolFinished], and
// the event that is made of it.
type ToolFinished struct {
	Use        string            `json:"use_id"`
	Tool       string            `json:"tool"`
	Content    []transcript.Part `json:"-"` // what the model reads ("content"). Only an event has it; the log has an item of its own for it
	IsError    bool              `json:"is_error,omitempty"`
	Millis     int64             `json:"ms"`                  // how long it took
	ExitCode   *int              `json:"exit_code,omitempty"` // of a command
	Notes      []string          `json:"notes,omitempty"`     // for the person who watches: what a sandbox refused, for example
	Changes    []FileChange      `json:"changes,omitempty"`   // files that the tool itself has changed; what a command did is not among them
	FilesShown []FileShown       `json:"seen,omitempty"`      // files that Content shows, or a part of them, as they were
	Cwd        string            `json:"cwd,omitempty"`       // the current directory from then on, when the call has changed it
	// Outcome is how a call ended that did not end by itself: [OutcomeUnknown] or
	// [OutcomeNotRun]. Otherwise it is "", and IsError tells.
	Outcome string `json:"outcome,omitempty"`
}

// Type returns the name of the event in JSON.
func (ToolFinished) Type() string { return "tool_finished" }

// Duration is how long the call took.
func (f *ToolFinished) Duration() time.Duration { return time.Duration(f.Millis) * time.Millisecond }

// Outcomes of a [ToolFinished].
const (
	OutcomeUnknown = "unknown" // the program stopped while it ran
	OutcomeNotRun  = "not-run" // it was started on record, and then the turn ended
)

// FileChange is what became of a file. Before and After are SHA-256 of its content, in
// hexadecimal, or "absent".
type FileChange struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// FileShown is a file that a model has been shown. Digest is SHA-256 of its whole content, in
// hexadecimal; of one that is too large for that, what the tool takes for its content.
type FileShown struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}
