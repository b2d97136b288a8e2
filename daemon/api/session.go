package api

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Session is a session with where its run stands and who writes it. Its questions include
// those of the agents that work for its run.
type Session struct {
	session.Meta
	Status RunStatus    `json:"status,omitempty" jsonschema:"where its run stands: run as on record, or waiting for an answer or for input, or interrupted when no process runs it"`
	HeldBy *LeaseHolder `json:"held_by,omitempty" jsonschema:"the process that writes it"`

	NotInherited *session.NotInherited `json:"left_behind,omitempty" jsonschema:"of a fork that was just made: what was decided in its source and does not hold in it; with_grants keeps it"`
}

// UnmarshalJSON reads all of it: that of [session.Meta] would read the meta alone.
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

// LeaseHolder is the process that writes a session.
type LeaseHolder struct {
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since"`
	Here    bool      `json:"here,omitempty" jsonschema:"it is this daemon"`
}

// SessionPatch changes a session: nil leaves a field alone, "" clears it.
type SessionPatch struct {
	Title   *string `json:"title,omitempty"`
	Tag     *string `json:"tag,omitempty"`
	Summary *string `json:"summary,omitempty"`
}

// Fork says where a session is forked; the zero value is at its end.
type Fork struct {
	At         string `json:"at,omitempty" jsonschema:"keep the transcript up to this item"`
	Seq        *int64 `json:"seq,omitempty" jsonschema:"or up to this record"`
	Title      string `json:"title,omitempty"`
	SessionID  string `json:"session_id,omitempty" jsonschema:"of the new session; left out: a new id"`
	WithGrants bool   `json:"with_grants,omitempty" jsonschema:"keep what was decided in the session: mode, grants, denials and changes of policy; without it the fork begins with none of them"`
}

// Rewind says how far a session is taken back, and what of it.
type Rewind struct {
	Target     string   `json:"to,omitempty" jsonschema:"right after this record (its number), item (its id) or turn (its id, or turn:3; turn:0 is before the first)"`
	ToRewrite  string   `json:"to_rewrite,omitempty" jsonschema:"or before the rewrite in this record, such as a compaction; last is the newest"`
	Files      bool     `json:"files,omitempty" jsonschema:"only the files, unless transcript is true, too"`
	Transcript bool     `json:"transcript,omitempty" jsonschema:"only the transcript, unless files is true, too; without both it is both, with to_rewrite the transcript"`
	Fork       bool     `json:"fork,omitempty" jsonschema:"leave the transcript as it is, and continue in a new session"`
	WithGrants bool     `json:"with_grants,omitempty" jsonschema:"with fork: keep what was decided in the session: mode, grants, denials and changes of policy"`
	Except     []string `json:"except,omitempty" jsonschema:"files that are left as they are, absolute or relative to the session's folder"`
	Force      bool     `json:"force,omitempty" jsonschema:"restore also files that others have changed since, and those that decide what other programs do"`
	Digest     string   `json:"digest,omitempty" jsonschema:"digest of the plan to apply, from the answer that was shown; without it nothing is changed"`
}

// RewindResult is the plan of a rewind, and what was done.
type RewindResult struct {
	To     int64        `json:"to"`
	Files  []rewindFile `json:"files"`
	Items  [2]int       `json:"items"`
	Digest string       `json:"digest"`
	Head   int64        `json:"head"` // a rewind to it undoes this one
	Done   *struct {
		Files      []rewindFile `json:"files"`
		Transcript bool         `json:"transcript"`
		Forked     string       `json:"forked"`
		Unkept     []rewindFile `json:"unkept"`
		Notices    []string     `json:"notices"`
	} `json:"done"` // nil of a plan
}

// rewindFile is a file, and what is done with it: docs/sessions.md lists the actions.
type rewindFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Reason string `json:"why"`
	Note   string `json:"note"`
	Size   int64  `json:"size"`
}

// Record is a record of a session's log.
type Record struct {
	Seq     int64           `json:"seq" jsonschema:"in the session that was asked for"`
	More    bool            `json:"more,omitempty" jsonschema:"another record of the same seq follows"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Agent   string          `json:"agent,omitempty" jsonschema:"of a run with several agents: whose record it is"`
	Session string          `json:"session,omitempty" jsonschema:"and the session that it is in"`
	Origin  int64           `json:"session_seq,omitempty" jsonschema:"and its seq there"`
	Payload json.RawMessage `json:"payload" jsonschema:"docs/formats/session-log.md; null when it was erased"`
}

// Records is one page of a session's records.
type Records struct {
	Items []Record `json:"items"`
	Next  int64    `json:"next_after" jsonschema:"after of the next page"`
	Head  int64    `json:"head" jsonschema:"seq of the last record"`
}
