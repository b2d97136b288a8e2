package audit

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/session"
)

// VerifyOptions adjusts [Verify].
type VerifyOptions struct {
	Session    string // this one only; the trail is still read as a whole
	Checkpoint []byte // a signed note from elsewhere that the trail must go on from
	Key        string // the verifier key that notes must be signed with; default the trail's own
}

// Report is what [Verify] found.
type Report struct {
	Sessions, Records, Leaves int
	Checkpoint                int       // leaves that the last checkpoint covers
	Key                       string    // the verifier key that it was signed with
	Findings                  []Finding // none: nothing was changed
	Notes                     []string  // what is no fault: records that no leaf covers yet
}

// Finding is a fault. The first of a session is where it begins.
type Finding struct {
	Session string `json:"session,omitempty"`
	Seq     int64  `json:"seq,omitempty"`  // the first bad record, or 0
	Leaf    int64  `json:"leaf,omitempty"` // of the trail, from 1, or 0
	What    string `json:"what"`           // "the payload does not match its digest", "records 12 to 15 are gone" …
}

// Verify compares logs with their chains, with the trail, and that with its
// checkpoints. Faults are findings; the error is about what could not be read at all.
func Verify(ctx context.Context, s *session.Sessions, dir string, o *VerifyOptions) (*Report, error) {
	return nil, errors.New("audit: not built")
}
