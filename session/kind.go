package session

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Kind is the type of a record. The set of kinds is closed: a log with an unknown kind was written
// by a newer version, and reading it returns [ErrNewer].
type Kind string

// KindItem is the kind of records that contain transcript items. To read single items use package
// event, and to read the whole transcript use [Sessions.Load]. docs/formats/session-log.md lists
// all kinds.
const KindItem Kind = record.KindItem

// known reports whether k is one of [record.Kinds].
func (k Kind) known() bool {
	switch k {
	case record.KindOpened, KindItem, record.KindTurnOpened, record.KindTurnClosed, record.KindToolStarted, record.KindToolFinished,
		record.KindApprovalAsked, record.KindApprovalResolved, record.KindDecision, record.KindPolicyChanged, record.KindHookRan,
		record.KindRewrite, record.KindMetaChanged, record.KindVendorMapped, record.KindWorkspaceEvent, record.KindTaskChanged, record.KindFileSaved, record.KindModelCalled, record.KindRedacted, record.KindRunEvent,
		record.KindAccess:
		return true
	}
	return false
}

// Shared reports whether a record of this kind may be appended without the session's lease: a
// rename, an answer to an approval request, a change of policy, the status of a run, a task of a
// shared task list, an access record. Only the lease holder may append other kinds.
func (k Kind) Shared() bool {
	return k == record.KindMetaChanged || k == record.KindApprovalResolved || k == record.KindPolicyChanged || k == record.KindRunEvent || k == record.KindTaskChanged || k == record.KindAccess
}

// Opened is the payload of "session.opened", the first record of every log. A fork's has a Base.
type Opened struct {
	Format    int       `json:"format"`
	SessionID string    `json:"session_id"`
	Created   time.Time `json:"created"`
	Project   string    `json:"project,omitempty"`
	CWD       string    `json:"cwd,omitempty"`
	Model     string    `json:"model,omitempty"`
	GitBranch string    `json:"git_branch,omitempty"`
	Title     string    `json:"title,omitempty"`
	Summary   string    `json:"summary,omitempty"`
	Tag       string    `json:"tag,omitempty"`
	Prompt    string    `json:"first_prompt,omitempty"`
	User      string    `json:"user,omitempty"` // the operating system account that the program ran as
	// Owner is the session whose run this session works for, or "".
	Owner string `json:"owner,omitempty"`
	// Caller is the session that started this session: the owner or another session that works for
	// the owner. Use is the tool use in the caller. Caller and Use are "" if no tool call started
	// the session.
	Caller string `json:"caller,omitempty"`
	Use    string `json:"use,omitempty"`
	Base   *Base  `json:"base,omitempty"`
}

// Base is the point where a fork leaves its parent: the fork has the parent's records up to Seq.
// Digest is the digest of that record, so the hash chain continues.
type Base struct {
	Parent   string `json:"parent"`
	Seq      int64  `json:"seq"`
	Digest   Digest `json:"digest"`
	Messages int    `json:"messages"` // number of items in the transcript at Seq
}

// runEventPayload is the part of a [record.KindRunEvent] payload that this package reads; package
// internal/daemon/wire has the rest.
type runEventPayload struct {
	// Status is the new status of the session's run; "" leaves it unchanged.
	Status string `json:"status,omitempty"`
}

// Rewrite is the payload of a "rewrite" record. Exactly one of Items and TruncateAfter is set. The
// earlier transcript stays readable in the log.
type Rewrite struct {
	Reason        string            `json:"reason"`       // compaction, redaction, repair, truncate, return, mutator
	By            string            `json:"by,omitempty"` // the mutator's name
	Notes         []string          `json:"notes,omitempty"`
	Items         []json.RawMessage `json:"items,omitempty"` // the whole new transcript
	TruncateAfter string            `json:"cut,omitempty"`   // instead of Items: remove everything after the item with this id
	// Messages is the number of items in the new transcript.
	Messages int `json:"messages"`
}

// MetaPatch is the payload of a "meta.changed" record: a nil field leaves the value unchanged, an
// empty one clears it, any other replaces it.
type MetaPatch struct {
	Title     *string `json:"title,omitempty"`
	Summary   *string `json:"summary,omitempty"`
	Tag       *string `json:"tag,omitempty"`
	CWD       *string `json:"cwd,omitempty"`
	Project   *string `json:"project,omitempty"`
	Model     *string `json:"model,omitempty"`
	GitBranch *string `json:"git_branch,omitempty"`
	Trashed   *string `json:"trashed,omitempty"` // see [Meta.Trashed]
	By        string  `json:"by,omitempty"`
	// FirstPrompt is the first prompt of the source that a fork shows.
	FirstPrompt *string `json:"first_prompt,omitempty"`
}
