package api

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Session is a session with the status of its run and its lease holder. The approvals of the
// session include those of the run's sub-agents.
type Session struct {
	session.Meta
	Status RunStatus    `json:"status,omitempty" jsonschema:"status of its run: the recorded status, or waiting (for an approval or input), or interrupted (no process runs it)"`
	HeldBy *LeaseHolder `json:"held_by,omitempty" jsonschema:"the process that holds its lease"`

	NotInherited *session.NotInherited `json:"left_behind,omitempty" jsonschema:"for a new fork: policy of the source session that the fork does not inherit; see with_grants"`
}

// UnmarshalJSON decodes all fields. Without this method, the method of the embedded [session.Meta]
// would decode only its own fields.
func (s *Session) UnmarshalJSON(b []byte) error {
	var more struct {
		Status     RunStatus             `json:"status"`
		HeldBy     *LeaseHolder          `json:"held_by"`
		LeftBehind *session.NotInherited `json:"left_behind"`
	}
	if err := json.Unmarshal(b, &s.Meta); err != nil {
		return err
	}
	err := json.Unmarshal(b, &more)
	s.Status, s.HeldBy, s.NotInherited = more.Status, more.HeldBy, more.LeftBehind
	return err
}

// LeaseHolder is the process that may write a session.
type LeaseHolder struct {
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since"`
	Here    bool      `json:"here,omitempty" jsonschema:"true if it is this daemon"`
}

// SessionPatch changes fields of a session: nil leaves a field unchanged, "" clears it.
type SessionPatch struct {
	Title   *string `json:"title,omitempty"`
	Tag     *string `json:"tag,omitempty"`
	Summary *string `json:"summary,omitempty"`
}

// Fork describes a fork of a session. The zero value forks the session at its end.
type Fork struct {
	At         string `json:"at,omitempty" jsonschema:"keep the transcript up to this item"`
	Seq        *int64 `json:"seq,omitempty" jsonschema:"or up to this record"`
	Title      string `json:"title,omitempty"`
	SessionID  string `json:"session_id,omitempty" jsonschema:"id of the new session; default: a new id"`
	WithGrants bool   `json:"with_grants,omitempty" jsonschema:"inherit the session's mode, grants, denials and policy changes; default: the fork inherits none of them"`
}

// Rewind describes a rewind: the target, and whether files, transcript or both are restored.
type Rewind struct {
	Target     string   `json:"to,omitempty" jsonschema:"the state after this record (its seq), item (its id) or turn (its id, or turn:3; turn:0 is before the first, turn:-1 before the last)"`
	ToRewrite  string   `json:"to_rewrite,omitempty" jsonschema:"or the state before this rewrite, such as a compaction: the seq of its record, or last for the newest"`
	Files      bool     `json:"files,omitempty" jsonschema:"rewind the files; without files and transcript both are rewound, or with to_rewrite the transcript"`
	Transcript bool     `json:"transcript,omitempty" jsonschema:"rewind the transcript"`
	Fork       bool     `json:"fork,omitempty" jsonschema:"keep this transcript and continue in a new session"`
	WithGrants bool     `json:"with_grants,omitempty" jsonschema:"with fork: inherit the session's mode, grants, denials and policy changes"`
	Except     []string `json:"except,omitempty" jsonschema:"files to leave unchanged, absolute or relative to the session's folder"`
	Force      bool     `json:"force,omitempty" jsonschema:"also restore files that other programs changed since, and protected paths"`
	Digest     string   `json:"digest,omitempty" jsonschema:"digest of the plan to apply; without it, the answer is the plan and nothing is changed"`
}

// RewindResult is the plan of a rewind and, if it was applied, its result.
type RewindResult struct {
	To     int64        `json:"to"`
	Files  []rewindFile `json:"files"`
	Items  [2]int       `json:"items"`
	Digest string       `json:"digest"`
	Head   int64        `json:"head"` // a rewind to this seq undoes this rewind
	Done   *struct {
		Files      []rewindFile `json:"files"`
		Transcript bool         `json:"transcript"`
		Forked     string       `json:"forked"`
		Unkept     []rewindFile `json:"unkept"`
		Notices    []string     `json:"notices"`
	} `json:"done"` // nil if the plan was not applied
}

// rewindFile is one file of a rewind and what happens to it; docs/sessions.md lists the actions.
type rewindFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Reason string `json:"why"`
	Note   string `json:"note"`
	Size   int64  `json:"size"`
}

// Record is a record of a session's log.
type Record struct {
	Seq     int64           `json:"seq" jsonschema:"seq in the requested session"`
	More    bool            `json:"more,omitempty" jsonschema:"another record with the same seq follows"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Agent   string          `json:"agent,omitempty" jsonschema:"in a run with several agents: the agent of the record"`
	Session string          `json:"session,omitempty" jsonschema:"in a run with several agents: the session of the record"`
	Origin  int64           `json:"session_seq,omitempty" jsonschema:"seq in that session"`
	Payload json.RawMessage `json:"payload" jsonschema:"see docs/formats/session-log.md; null if it was erased"`
}

// Records is one page of a session's records.
type Records struct {
	Items []Record `json:"items"`
	Next  int64    `json:"next_after" jsonschema:"value of after for the next page"`
	Head  int64    `json:"head" jsonschema:"seq of the last record"`
}
