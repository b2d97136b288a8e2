// Package acp drives any agent that speaks the Agent Client Protocol: JSON-RPC in lines on the agent's standard
// input and output.
//
//	► initialize          (without files and terminals: the agent is in the container)
//	► session/new, or session/resume or session/load ─► SessionStarted
//	► session/set_model, session/set_mode              (if it supports them)
//	► session/prompt
//	◄ session/update: chunks ─► Delta, Item            ◄ session/update: tool calls ─► Item
//	◄ session/request_permission ─► Permit             ► allow once, or reject
//	◄ the response to session/prompt ─► End
//
// A permission applies to one call only: the driver never selects an "always" option. Tool calls are converted to
// the names and arguments of Claude Code's tools from what the agent reports (kind, paths, differences,
// arguments), so that the guards decide about them as about others. A call that reports too little is judged by
// its kind alone, under its name.
//
// Outgoing messages use the types of github.com/coder/acp-go-sdk. Incoming messages have their own types, because
// an agent with a newer protocol sends more fields, and because lines may be longer than that library accepts.
package acp
