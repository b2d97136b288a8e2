package record

// ToolStarted is the payload of a record of [KindToolStarted]. It is on disk before the tool runs.
type ToolStarted struct {
	Use  string `json:"use_id"`
	Tool string `json:"tool"`
}

// ToolFinished is the payload of a record of [KindToolFinished].
type ToolFinished struct {
	Use      string `json:"use_id"`
	Tool     string `json:"tool"`
	IsError  bool   `json:"is_error,omitempty"`
	Millis   int64  `json:"ms"`
	ExitCode *int   `json:"exit_code,omitempty"`
	// Notes are for the person who watches: what a sandbox refused, for example.
	Notes []string `json:"notes,omitempty"`
	// Changes are the files that the tool itself has changed. What a command did is
	// not among them.
	Changes []FileChange `json:"changes,omitempty"`
	// Seen are the files that its result shows, or a part of them, as they were.
	Seen []ShownFile `json:"seen,omitempty"`
	// Cwd is the current directory from then on, when the call has changed it.
	Cwd string `json:"cwd,omitempty"`
	// Outcome is how a call ended that did not end by itself: [OutcomeUnknown] or
	// [OutcomeNotRun]. Otherwise it is "", and IsError tells.
	Outcome string `json:"outcome,omitempty"`
}

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

// ShownFile is a file that a model has been shown. Digest is SHA-256 of its whole content, in
// hexadecimal; of one that is too large for that, what the tool takes for its content.
type ShownFile struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}
