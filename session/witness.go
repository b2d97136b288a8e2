package session

import "context"

// Witness keeps evidence of what logs said, so that a log that was cut or rewritten
// is found out (package audit). It may be called concurrently.
type Witness interface {
	// Appended is told that the log of session id now ends with head, before anybody
	// acts on that. An error fails the append: what was to follow does not happen. The
	// records are on disk then, and the next append begins with telling it again.
	Appended(ctx context.Context, id string, head Record) error
	// Deleted is told that a session is deleted on purpose, before it is.
	Deleted(ctx context.Context, id string) error
}

// Eraser is a store that can erase payloads for good, from the medium too, and keep
// their records: Payload nil, Body and Digest as they were. It is called by who
// holds the lease with that epoch, after a [Redacted] record that names the
// records is on disk, and again after a crash: what is erased stays erased.
type Eraser interface {
	Erase(ctx context.Context, id string, epoch int64, seqs []int64) error
}
