package record

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// ToolStarted reports the start of a tool call. It is the payload of a [KindToolStarted] record,
// and also the event made from that record. The record is durable before the tool runs.
type ToolStarted struct {
	Use  string `json:"use_id"`
	Tool string `json:"tool"`
	// Input is the input that the tool runs with. A policy or the approver may have changed the
	// model's input. Only events have this field; in the log, other records contain the input.
	Input json.RawMessage `json:"input,omitempty"`
}

// Type returns the name of the event in JSON.
func (ToolStarted) Type() string { return "tool_started" }

// ToolFinished reports the end of a tool call. It is the payload of a [KindToolFinished] record,
// and also the event that is made from that record.
type ToolFinished struct {
	Use        string            `json:"use_id"`
	Tool       string            `json:"tool"`
	Content    []transcript.Part `json:"-"` // what the model reads, "content" in JSON; only events have it, and the log contains it as an item
	IsError    bool              `json:"is_error,omitempty"`
	Millis     int64             `json:"ms"`                  // duration
	ExitCode   *int              `json:"exit_code,omitempty"` // exit code of a command
	Notes      []string          `json:"notes,omitempty"`     // texts for the user; for example, what the sandbox refused
	Changes    []FileChange      `json:"changes,omitempty"`   // files changed by the tool itself, not by a command
	FilesShown []FileShown       `json:"seen,omitempty"`      // the files that Content shows completely or in part
	Cwd        string            `json:"cwd,omitempty"`       // the new current directory, if the call changed it
	// Outcome is [OutcomeUnknown] or [OutcomeNotRun] for a call that did not run to its end.
	// Otherwise it is "", and IsError tells whether the call failed.
	Outcome string `json:"outcome,omitempty"`
}

// Type returns the name of the event in JSON.
func (ToolFinished) Type() string { return "tool_finished" }

// Duration returns the duration of the call.
func (f *ToolFinished) Duration() time.Duration { return time.Duration(f.Millis) * time.Millisecond }

// Outcomes of a [ToolFinished].
const (
	OutcomeUnknown = "unknown" // the program stopped while the call ran
	OutcomeNotRun  = "not-run" // the start was recorded, but the turn ended before the call ran
)

// FileChange is a change of a file. Before and After are the SHA-256 of its content in hexadecimal, or
// "absent".
type FileChange struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// FileShown is a file that was shown to the model. Digest is the SHA-256 of the whole file, in
// hexadecimal. For a file that is too large, the tool uses another value to detect changes.
type FileShown struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}
