package session

import (
	"context"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Save makes the stored transcript of id be items: what is stored already is
// left alone, what is new is appended, and when the two differ in the middle
// one rewrite record replaces it. A nil patch leaves the metadata alone, and
// nil fields of it too. The session is created when there is none.
func (s *Sessions) Save(ctx context.Context, id string, items []transcript.Item, patch *MetaPatch) error {
	panic("to be written")
}
