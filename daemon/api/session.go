package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// Session is a session with where its run stands and who writes it. Its questions include
// those of the agents that work for its run.
type Session struct {
	session.Meta
	Status Status  `json:"status,omitempty" jsonschema:"where its run stands: run as on record, or waiting for an answer or for input, or interrupted when no process runs it"`
	HeldBy *Holder `json:"held_by,omitempty" jsonschema:"the process that writes it"`

	LeftBehind *session.Left `json:"left_behind,omitempty" jsonschema:"of a fork that was just made: what was decided in its source and does not hold in it; with_grants keeps it"`
}

// UnmarshalJSON reads all of it: that of [session.Meta] would read the meta alone.
func (s *Session) UnmarshalJSON(b []byte) error {
	var more struct {
		Status     Status        `json:"status"`
		HeldBy     *Holder       `json:"held_by"`
		LeftBehind *session.Left `json:"left_behind"`
	}
	if err := json.Unmarshal(b, &s.Meta); err != nil {
		return err
	}
	err := json.Unmarshal(b, &more)
	s.Status, s.HeldBy, s.LeftBehind = more.Status, more.HeldBy, more.LeftBehind
	return err
}

// Holder is the process that writes a session.
type Holder struct {
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
	To         string   `json:"to,omitempty" jsonschema:"right after this record (its number), item (its id) or turn (its id, or turn:3; turn:0 is before the first)"`
	ToRewrite  string   `json:"to_rewrite,omitempty" jsonschema:"or before the rewrite in this record, such as a compaction; last is the newest"`
	Files      bool     `json:"files,omitempty" jsonschema:"only the files, unless transcript is true, too"`
	Transcript bool     `json:"transcript,omitempty" jsonschema:"only the transcript, unless files is true, too; without both it is both, with to_rewrite the transcript"`
	Fork       bool     `json:"fork,omitempty" jsonschema:"leave the transcript as it is, and continue in a new session"`
	WithGrants bool     `json:"with_grants,omitempty" jsonschema:"with fork: keep what was decided in the session: mode, grants, denials and changes of policy"`
	Except     []string `json:"except,omitempty" jsonschema:"files that are left as they are, absolute or relative to the session's folder"`
	Force      bool     `json:"force,omitempty" jsonschema:"restore also files that others have changed since, and those that decide what other programs do"`
	Digest     string   `json:"digest,omitempty" jsonschema:"digest of the plan to apply, from the answer that was shown; without it nothing is changed"`
}

// Rewound is the plan of a rewind, and what was done.
type Rewound struct {
	To     int64         `json:"to"`
	Files  []RewoundFile `json:"files"`
	Items  [2]int        `json:"items"`
	Digest string        `json:"digest"`
	Head   int64         `json:"head"` // a rewind to it undoes this one
	Done   *struct {
		Files      []RewoundFile `json:"files"`
		Transcript bool          `json:"transcript"`
		Forked     string        `json:"forked"`
		Unkept     []RewoundFile `json:"unkept"`
		Notices    []string      `json:"notices"`
	} `json:"done"` // nil of a plan
}

// RewoundFile is a file, and what is done with it: docs/checkpoints.md lists the actions.
type RewoundFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Why    string `json:"why"`
	Note   string `json:"note"`
	Size   int64  `json:"size"`
}

func sessionRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions", ID: "listSessions", Tag: "sessions",
			Doc: "Sessions, the last updated first. With q a page may be short, or empty, and still have a next one: " +
				"what one request searches is bounded.",
			Scope: ScopeRead, Response: Page[Session]{},
			Query: paged(
				Param{Name: "q", Doc: "text to find in id, title, first prompt, summary, tag and folder, in upper or lower case"},
				Param{Name: "cwd", Doc: "only of this folder"}, Param{Name: "project", Doc: "only of this project"},
				Param{Name: "tag", Doc: "only with this tag"},
				Param{
					Name: "run", Doc: "only where the run has this status on record; * is any. One that waits is running, usually with asked=true",
					Enum: append(recordedStatuses(), "*"),
				},
				Param{Name: "owner", Doc: "only those of the agents of this run"},
				Param{Name: "agents", Doc: "also those of agents that work for a run; owner and asked include them", Type: "boolean"},
				Param{Name: "asked", Doc: "only those with open questions", Type: "boolean"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}", ID: "getSession", Tag: "sessions", Doc: "One session.",
			Scope: ScopeRead, Response: Session{}, Versioned: true, Problems: one(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}", ID: "patchSession", Tag: "sessions",
			Doc:   "Title, tag and summary; an empty text clears one.",
			Scope: ScopeRun, Header: []Param{ifMatch}, Body: SessionPatch{}, Response: Session{}, Versioned: true,
			Problems: one(outcome.Stale),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}", ID: "deleteSession", Tag: "sessions",
			Doc:   "Deletes a session permanently, and with a run's those of its agents. Forks keep what they need.",
			Scope: ScopeAdmin, Header: []Param{ifMatch}, Status: http.StatusNoContent,
			Problems: one(outcome.Busy, outcome.Stale, outcome.NotOffered),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/fork", ID: "forkSession", Tag: "sessions",
			Doc:   "Creates a session that shares the records of this one up to an item, or up to a record.",
			Scope: ScopeRun, Body: Fork{}, OptionalBody: true, Status: http.StatusCreated, Response: Session{}, Versioned: true,
			Problems: one(outcome.Conflict),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/rewind", ID: "rewindSession", Tag: "sessions",
			Doc: "Takes files and transcript back to an earlier point, as holdfast sessions rewind does: answers with the plan, and applies " +
				"it when the same request has the plan's digest.",
			Scope: ScopeApprove, Body: Rewind{}, Response: json.RawMessage(nil),
			Problems: one(outcome.Busy, outcome.Conflict, outcome.NotOffered),
		},
	}
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

func eventRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/sessions/{id}/events", ID: "listEvents", Tag: "sessions",
		Doc: "The records of a session, oldest first, with those of a run's agents in their places; or, with Accept: " +
			"text/event-stream, the same as they come (also of a run that is only prepared): event record (id: its seq), delta, gap, caught_up, deleted, shutdown.",
		Scope: ScopeRead, Response: Records{}, Types: []string{EventStream},
		Problems: one(outcome.Unavailable),
		Query: []Param{
			{
				Name: "after", Type: "integer",
				Doc: "begin after this seq; -N: the last N. Default 0, and of a stream Last-Event-ID",
			},
			{Name: "limit", Doc: "how many records at most; default 50; not of a stream", Type: "integer", Min: 1, Max: MaxLimit},
			{Name: "kind", Doc: "only records of these kinds, separated by commas"},
		},
		Header: []Param{{Name: "Last-Event-ID", Doc: "of a stream: begin after this seq"}},
	}}
}
