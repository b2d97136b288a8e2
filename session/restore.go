package session

import "context"

// RestoreOptions says which session an agent goes on with, in the seed's order:
// ContinueRecent picks the id, Fork branches off, At truncates.
type RestoreOptions struct {
	SessionID      string // "" with ContinueRecent false means a new session
	ContinueRecent bool   // the session of Project updated last, when SessionID is ""
	Project        string // for ContinueRecent; "" means any
	Fork           bool   // go on in a fork; the source stays as it is
	ForkID         string // its id; default a new UUID
	At             string // keep the transcript up to this item id
	MustExist      bool   // an unknown SessionID is ErrNotFound instead of a new session
	Takeover       bool   // take the lease from a live holder
	Opened         Opened // describes the session when one is created
}

// Restored is a session ready to go on.
type Restored struct {
	Log     *Log
	State   *State   // after repair
	Created bool     // the session is new
	Forked  string   // the source's id when it was forked
	Notices []string // what was mended or differs, for a person to read
}

// Restore opens a session for an agent: it picks, forks and truncates as
// asked, replays the log, answers tool calls without a result with "outcome
// unknown" (durably, before it returns), and reports a turn that never closed.
// An unknown At is ErrInvalid with the nearest ids in its Hint. The caller
// closes Restored.Log.
func (s *Sessions) Restore(ctx context.Context, o RestoreOptions) (*Restored, error) {
	panic("to be written")
}
