// Package feed tells many readers what a session's log says, from any seq on, as it
// grows.
//
//	append ─► Hub.WrapWitness ─┐                          ┌─► Subscription ─► a WebSocket
//	                       ├─► feed of a session, ring ┼─► Subscription ─► SSE
//	deltas ─► Hub.Publish ─┘      ▲                   └─► …
//	                              └── what fell out of the ring is read from the log
//
// A record reaches each subscriber once, in order, whatever happens: a slow one falls
// out of the ring and reads the log instead. Deltas are lost then, and a [Gap] says
// so. Nobody waits for a subscriber.
//
// Records of the agents of a run that have sessions of their own are relayed: the
// run's log names them (run.event "relayed"), and the feed puts them in its place.
//
// The package encodes nothing by itself, and does not know who may read what.
package feed

import (
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
)

// Kind is what an event is.
type Kind int

// The kinds of events.
const (
	Durable  Kind = iota // records
	Delta                // what is not on record: provisional until the next record
	Gap                  // deltas were lost: what was provisional is void
	CaughtUp             // everything that was on record at the subscription, or at a Gap, was told
)

// Event is one thing that a session's log, or its agent, says. Events are shared by
// all subscribers: do not change one.
type Event struct {
	Kind    Kind
	Session string // whose feed it is: the run's
	Seq     int64  // Durable: of the record in that session; otherwise of the last one told
	Time    time.Time
	// Records are those of a Durable event: one, or those that a relay stands for. A
	// relay whose records are gone has none.
	Records []Record

	Agent string      // Delta: the agent's name
	Delta event.Event // Delta
	encodings
}

// Record is a record and where it comes from. What was erased has as its payload what
// is read in its place, or none.
type Record struct {
	Agent   string // name of the agent whose session it is, when relayed
	Session string // whose log it is in
	session.Record
}

// Encoding makes frames of events. It is pure, and asks no event for frames itself.
// The frames of an event are made once for all subscribers; encodings are told apart
// by their address.
type Encoding struct {
	Encode func(e *Event) [][]byte
}

// Frames are the frames of e in an encoding; the same slices for everybody. It is
// safe for concurrent use.
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

// encodings are the frames of an event that were made already.
type encodings struct {
	mu   sync.Mutex
	made []encoded
}

type encoded struct {
	in     *Encoding
	frames [][]byte
}

// size is about how many bytes an event keeps.
func (e *Event) size() int {
	n := 64
	for i := range e.Records {
		n += 256 + len(e.Records[i].Payload)
	}
	switch d := e.Delta.(type) {
	case event.TextDelta:
		n += len(d.Text)
	case event.ThinkingDelta:
		n += len(d.Text)
	case event.ToolInputDelta:
		n += len(d.JSON)
	}
	return n
}
