package session

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// AnsweredApproval is an approval.asked record with the approval.resolved record that answers it.
type AnsweredApproval struct{ Asked, Answer Record }

// State is the result of replaying a log: the current state of the session.
type State struct {
	SessionID     string
	Head          int64
	Items         []transcript.Encoded // the transcript, after the last rewrite
	Queue         []transcript.Encoded // accepted input that waits until its turn starts
	Running       []record.ToolStarted // tool calls that started and have not finished, in order
	OpenTurn      string               // the turn that is not closed, or ""
	Turns         int                  // number of turns opened
	Mode          string               // mode in the last policy.changed record that sets it, or ""
	ModeSeq       int64                // seq of that record
	Cwd           string               // the current directory after the last turn start or change; or ""
	Mark          *record.RequestMark  // request mark of the last assistant item that has one
	Usage         transcript.Usage     // sum of all answers in the log, including rewritten ones and those of a fork's parents
	CostUSD       float64              // cost of the run: all recorded model calls, including those of sub-agents; a fork starts at zero
	Tokens        int64                // tokens of the same model calls as CostUSD
	Budget        record.Budget        // budget of the run, as last set; a fork has none
	OpenApprovals []Record             // approval.asked records without an answer, oldest first

	// Answered are the approval requests that were answered but have had no effect yet: their tool
	// use has not started and has no result.
	Answered []AnsweredApproval
	// Policy are the policy.changed payloads since the run began, oldest first. A fork, and a
	// payload with "ended", starts a new run.
	Policy []json.RawMessage
	// NotificationIDs are the ids of all notifications the session ever had, including compacted
	// ones.
	NotificationIDs map[string]bool
	// UsedIDs are the ids of approval requests, and of tool uses that a rewrite removed from the
	// transcript. They must not be used again.
	UsedIDs map[string]bool
	// Saved maps the digest of a file content to the seq of the file.saved record that has it, see
	// [record.FileSaved].
	Saved map[string]int64
	// ShownFiles are the files that the transcript shows or that were written in it, each in its
	// last version. Items that a rewrite removed or changed are not included.
	ShownFiles []record.FileShown
}
