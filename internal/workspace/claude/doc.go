// Package claude drives Claude Code over the protocol of `claude -p`: lines of JSON on its standard input and
// output.
//
//	► control_request initialize (hooks: request permission for every tool use)
//	► user
//	◄ system init ─► SessionStarted ◄ stream_event ─► Delta
//	◄ assistant, user ─► Item       ◄ control_request can_use_tool ─► Permit
//	► control_response              ◄ result ─► End
//
// Claude Code requests permission only if its own settings require it, and the agent can change
// those settings. Therefore the driver adds a hook that returns "ask" for every tool use. Each tool
// use, including reads, then arrives as can_use_tool, and Holdfast's guards decide about it.
//
// The usage and cost in a result are those of the process. Each turn has its own process, so a
// resumed session does not count earlier turns again (verified with 2.1.197).
//
// The protocol is that of version 2.1.197, from recordings. Unknown event types are reported as notices and
// skipped.
package claude
