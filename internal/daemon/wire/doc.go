// Package wire defines the messages of the daemon's WebSocket, /v1/ws. They have the names and
// fields of CommaAgents' protocol, with additions that make them durable.
//
//	client ── prepare_run start_run … permission_decision update_policy subscribe ──► daemon
//	client ◄── strategy_started agent_output request_permission … caught_up error ─── daemon
//
// A message is one text frame with one JSON object. Client messages are decoded strictly. An
// unknown field, a duplicate key and a value of the wrong type are errors that name the field (see
// [Decode]).
//
// [Project] turns the records of a session into the messages about its run. It is a pure function:
// the same record always gives the same bytes.
//
//	req, bad := wire.Decode(frame)                       // the daemon reads
//	frame := wire.Encode(&wire.Pong{…})                  // and answers
//	frames := wire.Project(run, e.Seq, records...)       // and sends events
//
// docs/reference/websocket.md describes the protocol message by message. The package does no I/O
// and does not handle connections; package daemon does.
package wire
