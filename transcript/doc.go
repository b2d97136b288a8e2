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
// An item has one canonical JSON form. [Item.Encode] writes it, and [Encoded.Parse] indexes it: an
// [Encoded] item knows its id, role and tool-use ids, and returns the rest as raw slices. Therefore
// ten thousand items can be replayed and sent to a model without being decoded. [Encoded.Decode]
// decodes one. Unknown fields, unknown parts and integers above 2^53, which a newer version may
// write, survive the round trip.
//
// The pairing rule: every tool use has exactly one result, which comes later, with only results in
// between. [Transcript.Append] enforces it item by item, and [Validate] checks a whole list.
//
//	var t transcript.Transcript
//	e, err := transcript.UserText("hello").Encode()
//	err = t.Append(e)
//	err = t.Check() // nil: no tool use waits for a result
//
// The package uses the standard library only and does no I/O. It is not the session log (package
// session) and does not know the providers' APIs (packages below model).
package transcript
