// Package mcpserver lets MCP clients use an agent's tools. The client takes the place of
// the model: what it calls is a tool use in a session's transcript, and what it is told is
// that use's result. So the agent's loop does to each call what it does to a model's:
// schema, hooks, guard, questions, sandbox, and the log before any effect.
//
//	MCP client ─ tools/call ─► Server ─► Desk (a model.Model) ─ tool use ─► agent's loop
//	           ◄─ result ──────────────◄─────────────────────── tool result ┘
//
// A [ClientSession] has one agent, and so one session, which is one turn for as long as the client
// is there. Calls that arrive while others run wait for these; those that wait are one
// round of the loop, in which read-only calls run side by side.
//
// A client has no way to answer a question. [Server.Handler] is HTTP for clients with a
// token (package internal/daemon/auth).
package mcpserver
