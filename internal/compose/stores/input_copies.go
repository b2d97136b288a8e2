package stores

import (
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/inputlog"
	"github.com/holdfast-dev/holdfast/session"
)

// inputCopies removes what the user sent to a session from the history of conversations.
type inputCopies struct{ path string }

// matches returns the function that selects the entries to erase. Entries without a session were
// not sent to one. If records are erased by their numbers, all entries of the session are: which
// record an entry belongs to is not known.
func (h *inputCopies) matches(e *session.Erasing) func(*inputlog.Entry) bool {
	return func(n *inputlog.Entry) bool {
		switch {
		case e.Mask == nil:
			return e.Changed && n.Session == e.Session
		case n.Session == e.Session || n.Session == "":
			return e.Hits(n.Text)
		}
		return false
	}
}

// Find implements [session.ExternalCopies].
func (h *inputCopies) Find(_ context.Context, e *session.Erasing) ([]session.ExternalCopy, error) {
	n, err := inputlog.Count(h.path, h.matches(e))
	if n == 0 {
		return nil, err
	}
	return []session.ExternalCopy{{Session: e.Session, Kind: "input", Path: h.path}}, nil
}

// Erase implements [session.ExternalCopies].
func (h *inputCopies) Erase(ctx context.Context, e *session.Erasing) error {
	return inputlog.Remove(ctx, h.path, h.matches(e))
}

// Forget implements [session.ExternalCopies].
func (h *inputCopies) Forget(ctx context.Context, id string, _ iter.Seq2[session.Record, error]) error {
	return inputlog.Remove(ctx, h.path, func(n *inputlog.Entry) bool { return n.Session == id })
}
