package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// ExternalCopies keeps text of sessions beside their logs: an index for searching, long outputs of
// commands, notes of what was exported. [Options.Copies] lists all that there are, so that
// [Sessions.Redact] and [Sessions.Delete] reach them. It is safe for concurrent use, and
// doing something again changes nothing.
type ExternalCopies interface {
	// Find lists what it keeps of what is to be erased, and changes nothing.
	Find(ctx context.Context, e *Erasing) ([]ExternalCopy, error)
	// Erase removes what Find lists, but for what stays.
	Erase(ctx context.Context, e *Erasing) error
	// Forget removes all that it keeps of a session that is deleted. It is called before
	// the log goes, and once more without records after that.
	Forget(ctx context.Context, id string, records iter.Seq2[Record, error]) error
}

// Erasing is what is erased of one session.
type Erasing struct {
	Session string
	// Mask is that of [RedactOptions]; nil when records are named.
	Mask func(json.RawMessage) json.RawMessage
	// Uses are the tool uses of the records that are named.
	Uses []string
	// Records are the session's own, as they were read before.
	Records []Record
	// Changed: records of the log are erased, too.
	Changed bool
}

// Hits reports whether the mask finds something in a text.
func (e *Erasing) Hits(text string) bool {
	return e.Mask != nil && maskedText(text, e.Mask) != text
}

// ExternalCopy is a piece of a session's text that a [ExternalCopies] keeps.
type ExternalCopy struct {
	Session string `json:"session"`
	Kind    string `json:"what"`          // output, index, export
	Path    string `json:"place"`         // a path
	Stays   string `json:"why,omitempty"` // why it is not removed, and what to do; "" when it is
}

// forget tells the copies that a session is deleted.
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
