// Package transcript defines the items of a transcript, their parts, and the pairing rule that
// models require.
//
//	Item ── role, model, usage, finish, time
//	 └─ Parts ── Text · Thinking · ToolUse · ToolResult · Media · File · Structured · Custom
//	 └─ Native ─ the provider's own message, byte for byte
//
//	Item ──Encode──► Encoded ──Append──► Transcript ──Check──► model
//	Item ◄──Decode── Encoded ◄──Parse─── bytes of a log record
//
// An item has one canonical JSON form. [Item.Encode] writes it and [Encoded.Parse] indexes it
// without decoding: an [Encoded] item knows its id, role and tool-use ids, and
// hands out raw slices of the rest, so that ten thousand items can be replayed
// and sent to a model again without being unpacked. [Encoded.Decode] unpacks
// one. Unknown fields, unknown
// parts and integers above 2^53, as a newer version may write them, survive the round trip.
//
// The pairing rule: every tool use has exactly one result, it comes later, and
// nothing but results comes between. [Transcript.Append] keeps it as items
// arrive, [Validate] checks a whole list.
//
//	var t transcript.Transcript
//	e, err := transcript.UserText("hello").Encode()
//	err = t.Append(e)
//	err = t.Check() // nil: nothing is waiting for a result
//
// The package uses the standard library only and does no I/O. It is not the
// session log (package session) and knows no provider's wire (packages below
// model).
package transcript
