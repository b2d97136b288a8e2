package session

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// AnsweredApproval is an approval.asked record with the approval.resolved record that answers it.
type AnsweredApproval struct{ Asked, Answer Record }

// State is what a log amounts to: replay it from the first record and this is
// where the session stands.
type State struct {
	SessionID     string
	Head          int64
	Items         []transcript.Encoded // the transcript, after the last rewrite
	Queue         []transcript.Encoded // input that was accepted and waits for its turn
	Running       []record.ToolStarted // tools with a start and no finish, in order
	OpenTurn      string               // a turn that was opened and not closed
	Turns         int                  // turns opened so far
	Mode          string               // from the last policy.changed, or ""
	ModeSeq       int64                // of that record
	Cwd           string               // where the last turn began, or the last call that changed the current directory has left it; or ""
	Mark          *record.RequestMark  // of the last assistant item that has one
	Usage         transcript.Usage     // summed over the answers in the log, rewritten ones and those of a fork's parent included
	CostUSD       float64              // of the run: all model calls on record, those of its sub-agents too; a fork begins at zero
	Tokens        int64                // likewise
	Budget        record.Budget        // of the run, as it was last said; a fork has none
	OpenApprovals []Record             // approval.asked without an answer, oldest first

	// Answered are the questions that were answered and not acted on: their tool
	// use has neither started nor a result.
	Answered []AnsweredApproval
	// Policy are the payloads of policy.changed since the run began, oldest first.
	// A fork, and one that says "ended", begins a run.
	Policy []json.RawMessage
	// NotificationIDs are the ids of all notifications that the session ever had, compacted ones too.
	NotificationIDs map[string]bool
	// UsedIDs are the ids of questions, and those of tool uses that a rewrite has taken out of
	// the transcript: what comes next has others.
	UsedIDs map[string]bool
	// Saved are the contents of files that file.saved records have: the record's seq by
	// the content's digest, see [record.FileSaved].
	Saved map[string]int64
	// ShownFile are the files that the transcript shows, and those that were written in it, each
	// as it was last. What a rewrite has taken away or changed shows nothing.
	ShownFiles []record.FileShown
}
