package wire

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Message is a message of the daemon. Pointers to this package's structs are the
// messages: *[Pong], *[StrategyStarted].
type Message interface {
	// Type is the message's name: "pong".
	Type() string
	// Common is what every message has.
	Common() *Envelope
}

// RunMessage is a [Message] about a run.
type RunMessage interface {
	Message
	// Position says which run it is about, and where in its log.
	Position() *Place
}

// Envelope is what every message of the daemon has.
type Envelope struct {
	TS        Time   `json:"ts" jsonschema:"when it happened; of what is on record the record's time; ISO 8601 in UTC with milliseconds"`
	RequestID string `json:"requestId,omitempty" jsonschema:"of the message that this answers, or that asked for what happened; in request_permission the question's id"`
}

// Common implements [Message].
func (e *Envelope) Common() *Envelope { return e }

// Place is what messages about a run have: which run, and where in its log. A
// record may give several frames; all but the last of them have More.
type Place struct {
	Envelope

	RunID   string `json:"runId" jsonschema:"the run"`
	Seq     int64  `json:"seq,omitempty" jsonschema:"number of the record in the run's log; provisional messages have none"`
	More    bool   `json:"more,omitempty" jsonschema:"another frame of the same record follows: afterSeq does not advance with this one"`
	Pending bool   `json:"pending,omitempty" jsonschema:"a question that waits, told at the subscription: no event, and afterSeq does not advance with it"`
}

// Position implements [RunMessage].
func (p *Place) Position() *Place { return p }

// Time is a moment on the wire: ISO 8601 with a zone. It is written in UTC with
// milliseconds, "2025-01-15T10:30:01.000Z".
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the moment. Years have four digits; a moment that needs
// another year is written as the nearest one that does not.
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

// UnmarshalJSON reads a moment; one without a zone is an error (cd-srv-023), and so
// is one in a year that has not four digits in UTC.
func (t *Time) UnmarshalJSON(b []byte) error {
	var at time.Time
	if len(b) == 0 || b[0] != '"' || at.UnmarshalJSON(b) != nil {
		return fmt.Errorf("%.60s is not a time with a zone, such as %q", b, timeLayout)
	}
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 || at.IsZero() {
		return fmt.Errorf("%.60s is not a year from 1 to 9999", b)
	}
	t.Time = at
	return nil
}

// Encode writes a message as one frame, its type first. The same message gives the
// same bytes. A message that holds raw JSON which is not JSON becomes an error of
// code INTERNAL_ERROR that says so.
func Encode(m Message) []byte {
	b, err := tagged(m.Type(), m)
	if err != nil {
		e := &Error{Envelope: *m.Common(), Code: CodeInternal, Message: fmt.Sprintf("%s cannot be written: %v", m.Type(), err)}
		b, _ = tagged(e.Type(), e) // it has texts only
	}
	return b
}

// tagged writes v, an object with at least one field, with its type as the first one.
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

// List is a list that is written as one, also when it is nil.
type List[T any] []T

// MarshalJSON writes the list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return jsonscan.Marshal([]T(l))
}
