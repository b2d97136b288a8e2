package session

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Draft is a record to be: [Log.Append] gives it its seq, time and digests.
type Draft struct {
	Kind    Kind
	Payload json.RawMessage // one JSON object
	ID      string          // optional; set it to make a retry recognisable
}

// NewDraft marshals a payload type of this package.
func NewDraft(k Kind, payload any) (Draft, error) {
	b, err := json.Marshal(payload)
	return Draft{Kind: k, Payload: b}, err
}

// ItemDraft makes an item record without unpacking the item.
func ItemDraft(e transcript.Encoded, queued bool, mark *RequestMark) Draft {
	b := make([]byte, 0, len(e.JSON)+160)
	b = append(b, `{"item":`...)
	b = append(b, e.JSON...)
	if queued {
		b = append(b, `,"queued":true`...)
	}
	if mark != nil {
		m, _ := json.Marshal(mark) // three plain fields cannot fail
		b = append(b, `,"request":`...)
		b = append(b, m...)
	}
	b = append(b, '}')
	return Draft{Kind: KindItem, Payload: b}
}

// Log is a session opened for writing: the holder of its lease. It is safe for
// concurrent use; appends are ordered. Close gives the lease back.
type Log struct{}

// ID is the session's id.
func (l *Log) ID() string { panic("to be written") }

// Meta is the session's meta after the last append of this log.
func (l *Log) Meta() Meta { panic("to be written") }

// Head is the seq of the last record.
func (l *Log) Head() int64 { panic("to be written") }

// Recovery tells what opening had to mend, or is nil.
func (l *Log) Recovery() *Recovery { panic("to be written") }

// Append adds the drafts as one batch after whatever is last, and returns them
// as records once they are durable. Shared records that others appended in the
// meantime are taken in first. Errors: ErrFenced when the lease was taken over,
// ErrFull, ErrPoisoned, ErrClosed.
func (l *Log) Append(ctx context.Context, drafts ...Draft) ([]Record, error) {
	panic("to be written")
}

// AppendAt is [Log.Append] on the condition that the log's head is seq;
// otherwise nothing happens and the error is ErrConflict.
func (l *Log) AppendAt(ctx context.Context, seq int64, drafts ...Draft) ([]Record, error) {
	panic("to be written")
}

// Rewrite replaces the transcript by one record; see [Rewrite]. It checks the
// pairing rule on the result first.
func (l *Log) Rewrite(ctx context.Context, w Rewrite) error { panic("to be written") }

// Records yields the log's records, parents' included.
func (l *Log) Records(ctx context.Context, r Range) iter.Seq2[Record, error] {
	panic("to be written")
}

// Tail returns the last n records, oldest first.
func (l *Log) Tail(ctx context.Context, n int) ([]Record, error) { panic("to be written") }

// Snapshot replays the log as it is now.
func (l *Log) Snapshot(ctx context.Context) (*State, error) { panic("to be written") }

// Close releases the lease and waits for its renewal to stop. Closing twice
// does nothing.
func (l *Log) Close() error { panic("to be written") }
