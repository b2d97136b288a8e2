// Package feed tells many readers what a session's log says, from any seq on, as it
// grows.
//
//	append ─► Hub.Witness ─┐                          ┌─► Subscription ─► a WebSocket
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
package feed

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/session"
)

// Kind is what an event is.
type Kind int

// The kinds of events.
const (
	Durable  Kind = iota // records
	Delta                // what is not on record: provisional, never told again
	Gap                  // deltas were lost: what was provisional is void
	CaughtUp             // everything that was on record at the subscription, or at a Gap, was told
)

// Event is one thing that a session's log, or its agent, says. Events are shared by
// all subscribers: do not change one.
type Event struct {
	Kind    Kind
	Session string    // whose feed it is: the run's
	Seq     int64     // Durable: of the record in that session; otherwise of the last one told
	Time    time.Time // of the record, or now
	Records []Record  // Durable: one, or those that a relay stands for

	Agent string      // Delta: the agent's name
	Delta agent.Event // Delta
	encodings
}

// Record is a record and where it comes from.
type Record struct {
	Agent   string // name of the agent whose session it is, when relayed
	Session string // whose log it is in
	session.Record
}

// Encoding makes frames of events. It is pure. The frames of an event are made once
// for all subscribers.
type Encoding struct {
	Encode func(e *Event) [][]byte
}

// Frames are the frames of e in an encoding; the same slices for everybody.
func (e *Event) Frames(in *Encoding) [][]byte { panic("not yet") }

type encodings struct{}

// Options adjusts [New]. The zero value works.
type Options struct {
	Ring  int           // events that a feed keeps; default 1024
	Bytes int           // bytes of payloads that a feed keeps at most; default 4 MiB
	Poll  time.Duration // how often to look for what other programs append; default 250 ms
	Clock func() time.Time
}

// Hub has the feeds of all sessions. A feed is made when somebody subscribes, and is
// forgotten when nobody does any more.
type Hub struct{}

// New returns a hub without sessions: they need its witness first.
func New(o *Options) *Hub { panic("not yet") }

// Witness passes what it is told on to inner, which may be nil, and then wakes the
// feed of the session. A failure of inner's wakes nobody.
func (h *Hub) Witness(inner session.Witness) session.Witness { panic("not yet") }

// Serve says whose logs are told. It is called once, before anything is subscribed.
func (h *Hub) Serve(s *session.Sessions) { panic("not yet") }

// Publish tells those who follow a session of something that is not on record. It
// never blocks.
func (h *Hub) Publish(id, agentName string, d agent.Event) { panic("not yet") }

// FromNow, as the seq of a subscription, begins with what is appended next.
const FromNow int64 = -1

// Subscribe begins behind a seq: 0 is from the beginning, [FromNow] is the end. The
// error is the store's: [session.ErrNotFound]. A seq behind the head is ErrInvalid.
func (h *Hub) Subscribe(ctx context.Context, id string, after int64) (*Subscription, error) {
	panic("not yet")
}

// Close ends all subscriptions and waits for what the hub does in the background.
func (h *Hub) Close() error { panic("not yet") }

// Subscription is one reader of a feed. It is for one goroutine, but for Close.
type Subscription struct{}

// Next returns the next event as soon as there is one. Errors: that of ctx, io.EOF
// after Close, session.ErrNotFound when the session was deleted, and the store's; a
// record that cannot be read is session.ErrCorrupt and the next call goes on behind it.
func (s *Subscription) Next(ctx context.Context) (*Event, error) { panic("not yet") }

// Close ends the subscription; a Next that waits returns.
func (s *Subscription) Close() { panic("not yet") }
