// Package acp drives any agent that supports the Agent Client Protocol, which is JSON-RPC with one
// message per line on the agent's standard input and output.
//
//	► initialize          (without files and terminals: the agent is in the container)
//	► session/new, or session/resume or session/load ─► SessionStarted
//	► session/set_model, session/set_mode              (if it supports them)
//	► session/prompt
//	◄ session/update: chunks ─► Delta, Item            ◄ session/update: tool calls ─► Item
//	◄ session/request_permission ─► Permit             ► allow once, or reject
//	◄ the response to session/prompt ─► End
//
// A permission applies to one call only: the driver never selects an "always" option. Tool calls
// are converted to the names and arguments of Claude Code's tools, so that the guards decide about
// them in the same way. The conversion uses what the agent reports: kind, paths, differences,
// arguments. If the agent reports too little about a call, the guards decide by the kind alone and
// see the call under the name of that kind.
//
// Outgoing messages use the types of github.com/coder/acp-go-sdk. Incoming messages have their own types, because
// an agent with a newer protocol sends more fields, and because lines may be longer than that library accepts.
package acp
