// Package claude speaks the wire of Claude Code: lines of JSON on the standard input and
// output of `claude -p`.
//
//	► control_request initialize (hooks: every tool use is to be asked about)
//	► user
//	◄ system init ─► Began          ◄ stream_event ─► Delta
//	◄ assistant, user ─► Item       ◄ control_request can_use_tool ─► Permit
//	► control_response              ◄ result ─► End
//
// Claude Code asks about a tool use only where its own settings do not say otherwise,
// and the agent can write those. So a hook is put before every tool use that says "ask":
// then each comes as can_use_tool, reads included, and our guards decide about all.
//
// What a result says a turn has used and cost is that of its process, and each turn has
// one: a resumed session does not count again what was before (tried with 2.1.197).
//
// The wire is that of version 2.1.197 as it was recorded; kinds of events that are not
// known are told as notices and passed over.
package claude
