package wire

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Message is a message of the daemon: a pointer to one of this package's structs, such as *[Pong]
// or *[StrategyStarted].
type Message interface {
	// Type returns the message's type, such as "pong".
	Type() string
	// Common returns the fields that every message has.
	Common() *Envelope
}

// RunMessage is a [Message] about a run.
type RunMessage interface {
	Message
	// Position returns the run and the seq of the message.
	Position() *RunPosition
}

// Envelope has the fields of every message of the daemon.
type Envelope struct {
	TS        Time   `json:"ts" jsonschema:"time of the event; for a recorded event, the time of its record; ISO 8601 in UTC with milliseconds"`
	RequestID string `json:"requestId,omitempty" jsonschema:"requestId of the message that this one answers, or that caused the event; in request_permission the approval's id"`
}

// Common implements [Message].
func (e *Envelope) Common() *Envelope { return e }

// RunPosition contains the fields that every message about a run has: the run, and the record in the
// run's log. A record may give several frames; all but the last have More.
type RunPosition struct {
	Envelope

	RunID   string `json:"runId" jsonschema:"the run"`
	Seq     int64  `json:"seq,omitempty" jsonschema:"seq of the record in the run's log; omitted in provisional messages"`
	More    bool   `json:"more,omitempty" jsonschema:"another frame of the same record follows; do not use this seq as afterSeq"`
	Pending bool   `json:"pending,omitempty" jsonschema:"an approval or input that was pending when the subscription started; not an event, so do not use its seq as afterSeq"`
}

// Position implements [RunMessage].
func (p *RunPosition) Position() *RunPosition { return p }

// Time is a time on the wire, in ISO 8601 with a zone. It is written in UTC with milliseconds:
// "2025-01-15T10:30:01.000Z".
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON encodes the time. Years have four digits; a time outside of that range is written as
// the nearest time in the range.
func (t Time) MarshalJSON() ([]byte, error) {
	at := t.UTC()
	switch y := at.Year(); {
	case y < 1:
		at = time.Time{}
	case y > 9999:
		at = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	}
	return at.AppendFormat(make([]byte, 0, len(timeLayout)+2), `"`+timeLayout+`"`), nil
}

// UnmarshalJSON decodes a time. A time without a zone is an error, and so is a year that does not
// have four digits in UTC.
func (t *Time) UnmarshalJSON(b []byte) error {
	var at time.Time
	if len(b) == 0 || b[0] != '"' || at.UnmarshalJSON(b) != nil {
		return fmt.Errorf("%.60s is not a time with a zone; write it as %q", b, timeLayout)
	}
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 || at.IsZero() {
		return fmt.Errorf("%.60s is not in the years 1 to 9999", b)
	}
	t.Time = at
	return nil
}

// Encode encodes a message as one frame, with its type first. The same message gives the same
// bytes. If the message contains raw JSON that is invalid, the frame is an error with the code
// INTERNAL_ERROR.
func Encode(m Message) []byte {
	b, err := tagged(m.Type(), m)
	if err != nil {
		e := &Error{Envelope: *m.Common(), Code: CodeInternal, Message: fmt.Sprintf("cannot encode %s: %v", m.Type(), err)}
		b, _ = tagged(e.Type(), e) // it has only strings, so encoding cannot fail
	}
	return b
}

// tagged encodes v with its type as the first field; v must be an object with at least one field.
func tagged(kind string, v any) ([]byte, error) {
	b, err := jsonscan.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(b)+len(kind)+len(`"type":"",`))
	out = append(out, `{"type":"`...)
	out = append(out, kind...)
	out = append(out, '"')
	if len(b) > len("{}") {
		out = append(out, ',')
	}
	return append(out, b[1:]...), nil
}

// List is a slice that is encoded as [] if it is nil.
type List[T any] []T

// MarshalJSON writes the list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return jsonscan.Marshal([]T(l))
}
