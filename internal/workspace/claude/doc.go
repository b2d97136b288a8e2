// Package claude drives Claude Code over the protocol of `claude -p`: lines of JSON on its standard input and
// output.
//
//	► control_request initialize (hooks: request permission for every tool use)
//	► user
//	◄ system init ─► SessionStarted ◄ stream_event ─► Delta
//	◄ assistant, user ─► Item       ◄ control_request can_use_tool ─► Permit
//	► control_response              ◄ result ─► End
//
// Claude Code requests permission only if its own settings require it, and the agent can write those. So the
// driver adds a hook that returns "ask" for every tool use. Each use, including reads, then arrives as
// can_use_tool, and Holdfast's guards decide about all.
//
// The usage and cost of a result are those of its process, and each turn has its own process: a resumed session
// does not count earlier turns again (verified with 2.1.197).
//
// The protocol is that of version 2.1.197, from recordings. Unknown event types are reported as notices and
// skipped.
package claude
