// Package feed sends the records of a session's log to many subscribers while the log grows. A
// subscriber can start at any seq.
//
//	append ─► Hub.WrapObserver ─┐                            ┌─► Subscription ─► a WebSocket
//	                            ├─► feed of a session, ring ─┼─► Subscription ─► SSE
//	deltas ─► Hub.Publish ──────┘      ▲                     └─► …
//	                                   └── older records are read from the log
//
// Each subscriber gets every record exactly once, in order. If a slow subscriber falls behind the
// ring, it reads from the log instead. It then loses deltas and gets a [Gap]. No subscriber can
// block another or the writer.
//
// A subscriber that joins in the middle of an answer gets the text so far, and the output so far of
// running calls, as deltas after its [CaughtUp]. The hub keeps them even if a session has no
// subscriber.
//
// The records of a run's agents with separate sessions are relayed: the run's log refers to them
// (run.event "relayed"), and the feed replaces each reference with the records.
//
// The package does not encode events itself and does not check permissions.
package feed

import (
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/session"
)

// Kind is the kind of an event.
type Kind int

// The kinds of events.
const (
	Durable  Kind = iota // records
	Delta                // a provisional event that is not recorded; the next record replaces it
	Gap                  // deltas were lost; what is provisional is sent again after the next CaughtUp
	CaughtUp             // all records that existed when the subscription began, or at a Gap, were sent
)

// Event is one record or delta of a session. All subscribers share the same events, so do not
// change one.
type Event struct {
	Kind    Kind
	Session string // the session of the feed, which is the session of the run
	Seq     int64  // if Durable: the seq of the record in that session; otherwise the seq of the last record that was sent
	Time    time.Time
	// Records are the records of a Durable event: one record, or the records that a relay refers
	// to. If the records of a relay were deleted, it is empty.
	Records []Record

	Agent string      // Delta: the agent's name
	Delta event.Event // Delta
	encodings
}

// Record is a record with its source. The payload of a redacted record is its replacement, or
// empty.
type Record struct {
	Agent   string // if relayed: the name of the agent that owns the session
	Session string // the session that contains the record
	session.Record
}

// Encoding turns events into frames. Encode must be pure and must not call Frames. The frames of an
// event are made once per *Encoding, and all subscribers share them.
type Encoding struct {
	Encode func(e *Event) [][]byte
}

// Frames returns the frames of e in an encoding; all callers get the same slices. It is safe for
// concurrent use.
func (e *Event) Frames(in *Encoding) [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.made {
		if m.in == in {
			return m.frames
		}
	}
	frames := in.Encode(e)
	e.made = append(e.made, encoded{in, frames})
	return frames
}

// encodings contains the frames of an event that were already made.
type encodings struct {
	mu   sync.Mutex
	made []encoded
}

type encoded struct {
	in     *Encoding
	frames [][]byte
}

// size returns approximately how many bytes an event occupies.
func (e *Event) size() int {
	n := 64
	for i := range e.Records {
		n += 256 + len(e.Records[i].Payload)
	}
	if e.Delta != nil {
		d := e.Delta
		if of, ok := d.(event.SubagentEvent); ok {
			d = of.Event
		}
		_, text := deltas.Split(d)
		n += len(text)
	}
	return n
}
