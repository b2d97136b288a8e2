// Package mcpserver serves an agent's tools over MCP. Every call passes the policy and is recorded.
// The client replaces the model: its calls are tool uses in a session's transcript, and it receives
// the results. The agent's loop therefore handles each call like a call of a model: it checks the
// schema, hooks, guard and approvals, uses the sandbox, and writes to the log before any effect.
//
//	MCP client ─ tools/call ─► Server ─► ClientSession (a model.Model) ─ tool use ─► agent's loop
//	           ◄─ result ──────────────◄──────────────────────────────── tool result ┘
//
// A [ClientSession] has one agent with one session. The session has a single turn, which lasts as
// long as the client is connected. Calls that arrive while other calls run wait until those have
// ended. The waiting calls become one round of the loop, in which read-only calls run concurrently.
//
// A client cannot answer approvals. [Server.Handler] serves HTTP for clients with a token (package
// internal/daemon/auth).
package mcpserver
