// Package event defines what a run tells, and the one JSON form of it.
//
//	agent ──► Event ──► terminal, stream-json, SSE, WebSocket, log pipe, telemetry
//	record ─► the same Event
//
// An event that is on record is told after its record is durable, and the record gives the
// same event again, whenever it is read. All others are provisional ([Provisional]): they are told once, while
// they happen, and whoever was not there does not get them.
//
//	b, err := event.Marshal(event.TextDelta{Text: "Hello"}) // {"type":"text_delta","text":"Hello"}
//	e, err := event.Unmarshal(b)
//
// The form is versioned by what is added: a reader ignores fields that it does not know, and
// [Unmarshal] returns [ErrUnknownType] for a type that it does not know. Names and meanings of
// fields do not change.
package event
