// Package mcpserver serves an agent's tools over MCP. Every call passes the policy and is recorded. The
// client takes the place of the model: its calls are tool uses in a session's transcript, and it receives
// the results. So the agent's loop handles each call like a model's: schema, hooks, guard, approvals,
// sandbox, and the log before any effect.
//
//	MCP client ─ tools/call ─► Server ─► ClientSession (a model.Model) ─ tool use ─► agent's loop
//	           ◄─ result ──────────────◄──────────────────────────────── tool result ┘
//
// A [ClientSession] has one agent with one session, whose single turn lasts as long as the client is
// connected. Calls that arrive while others run wait for these. The waiting calls become one round of the
// loop, in which read-only calls run concurrently.
//
// A client cannot answer approvals. [Server.Handler] serves HTTP for clients with a token (package
// internal/daemon/auth).
package mcpserver
