package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// ExternalCopies stores text of sessions outside their logs: a search index, long outputs of
// commands, notes about exports. [Options.Copies] lists all of them, so that [Sessions.Redact] and
// [Sessions.Delete] reach them. Implementations are safe for concurrent use, and every method is
// idempotent.
type ExternalCopies interface {
	// Find lists the copies of the text that will be erased. It changes nothing.
	Find(ctx context.Context, e *Erasing) ([]ExternalCopy, error)
	// Erase removes the copies that Find lists, except those with a reason in Stays.
	Erase(ctx context.Context, e *Erasing) error
	// Forget removes everything of a session that is deleted. It is called before the log is
	// deleted and once more, without records, afterwards.
	Forget(ctx context.Context, id string, records iter.Seq2[Record, error]) error
}

// Erasing describes what is erased in one session.
type Erasing struct {
	Session string
	// Mask is the mask of [RedactOptions]; nil if records are erased by seq.
	Mask func(json.RawMessage) json.RawMessage
	// Uses are the tool uses of the erased records.
	Uses []string
	// Records are the session's records before the erasure.
	Records []Record
	// Changed reports whether records of the log are erased too.
	Changed bool
}

// Hits reports whether Mask matches a text.
func (e *Erasing) Hits(text string) bool {
	return e.Mask != nil && maskedText(text, e.Mask) != text
}

// ExternalCopy is a piece of a session's text that an [ExternalCopies] stores.
type ExternalCopy struct {
	Session string `json:"session"`
	Kind    string `json:"what"`          // output, index, export
	Path    string `json:"place"`         // a path
	Stays   string `json:"why,omitempty"` // why it is not removed, and what to do; "" if it is removed
}

// forget tells all external copies that a session is deleted.
func (s *Sessions) forget(ctx context.Context, id string, records iter.Seq2[Record, error]) error {
	if records == nil {
		records = func(func(Record, error) bool) {}
	}
	var errs []error
	for _, c := range s.opt.Copies {
		errs = append(errs, c.Forget(ctx, id, records))
	}
	return errors.Join(errs...)
}
