// Package wire is what the daemon and its clients say to each other over the
// WebSocket /v1/ws: seed 002's messages by their names and fields, and what makes
// them durable.
//
//	client ── prepare_run start_run … permission_decision update_policy subscribe ──► daemon
//	client ◄── strategy_started agent_output request_permission … caught_up error ─── daemon
//
// A message is one text frame with one JSON object. Client messages are read
// strictly: a field that a message does not have, a key that comes twice, and a
// value of another type are errors that name it ([Decode]).
//
// What a run's clients see is made of the records of its session by [Project], a
// pure function: the same record gives the same bytes for whoever asks, whenever.
//
//	req, bad := wire.Decode(frame)                       // the daemon reads
//	frame := wire.Encode(&wire.Pong{…})                  // and answers
//	frames := wire.Project(run, e.Seq, records...)       // and tells what happens
//	msg, err := wire.ParseMessage(frame)                 // a client of this version would read it
//
// docs/reference/websocket.md is the protocol, message by message. The package does no I/O, and
// knows nothing of connections: those are package daemon's.
package wire
