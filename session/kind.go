package session

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// Kind says what a record is about. The set is closed; a log with another kind
// was written by a newer version and is refused with [ErrNewer].
type Kind string

// KindItem is the kind of the records that have the items of the transcript. Package event
// reads them, and [Sessions.Load] the transcript as a whole.
// docs/formats/session-log.md has all kinds.
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

// Shared reports whether a record of this kind may be appended by someone who
// does not hold the session's lease: a rename, an answer to a question, a
// change of policy, what became of a run, a task of the list that several agents work
// on, who was let in. Everything else belongs to the one writer.
func (k Kind) Shared() bool {
	return k == record.KindMetaChanged || k == record.KindApprovalResolved || k == record.KindPolicyChanged || k == record.KindRunEvent || k == record.KindTaskChanged || k == record.KindAccess
}

// Opened is the payload of "session.opened", always the first record of a log. A
// fork's has a Base.
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
	User      string    `json:"user,omitempty"` // on whose behalf: the account that the program ran as
	// Owner is the session whose run this one works for, or "".
	Owner string `json:"owner,omitempty"`
	// Caller is the session that has begun this one, the owner or another that works for
	// it, and Use the tool use there; "" when no call has.
	Caller string `json:"caller,omitempty"`
	Use    string `json:"use,omitempty"`
	Base   *Base  `json:"base,omitempty"`
}

// Base is where a fork leaves its parent: the fork sees the parent's records up
// to Seq. Digest is that record's, so the chain goes on unbroken.
type Base struct {
	Parent   string `json:"parent"`
	Seq      int64  `json:"seq"`
	Digest   Digest `json:"digest"`
	Messages int    `json:"messages"` // items in the transcript at Seq
}

// runEventPayload is what this package reads of the payload of [record.KindRunEvent]; package
// internal/daemon/wire has the rest of it.
type runEventPayload struct {
	// Status is that of the session's run from here on; "" leaves it.
	Status string `json:"status,omitempty"`
}

// Rewrite is the payload of a record "rewrite". Exactly one of Items and Cut is set.
// What the transcript was before stays readable in the log.
type Rewrite struct {
	Reason        string            `json:"reason"`       // compaction, redaction, repair, truncate, return, mutator
	By            string            `json:"by,omitempty"` // the mutator's name
	Notes         []string          `json:"notes,omitempty"`
	Items         []json.RawMessage `json:"items,omitempty"` // the whole new transcript
	TruncateAfter string            `json:"cut,omitempty"`   // or: drop everything after the item with this id
	// Messages is how many items the transcript has afterwards.
	Messages int `json:"messages"`
}

// MetaPatch is the payload of a record "meta.changed": fields that are present replace
// the session's, nil ones leave it alone, empty ones clear it.
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
	// FirstPrompt is what a fork shows of its source.
	FirstPrompt *string `json:"first_prompt,omitempty"`
}
