// Package event defines the events of a run and their JSON encoding.
//
//	agent ──► Event ──► terminal, stream-json, SSE, WebSocket, log pipe, telemetry
//	record ─► the same Event
//
// There are two kinds of events. A durable event comes from a record: it is emitted after the
// record is stored, and reading the record again gives the same event. A provisional event
// ([Provisional]), such as a delta, is emitted once and is not replayed.
//
//	b, err := event.Marshal(event.TextDelta{Text: "Hello"}) // {"type":"text_delta","text":"Hello"}
//	e, err := event.Unmarshal(b)
//
// New versions add types and fields, and never rename or change existing ones. A reader should
// ignore unknown fields, and skip a type for which [Unmarshal] returns [ErrUnknownType].
//
// The package only defines and encodes events. Package agent emits events, and package
// daemon/client reads the events of a daemon.
package event
