// Package acp speaks the Agent Client Protocol with any agent that knows it: JSON-RPC in
// lines on the agent's standard input and output.
//
//	► initialize          (we offer no files and no terminals: the agent is inside)
//	► session/new, or session/resume or session/load ─► Began
//	► session/set_model, session/set_mode              (where it has them)
//	► session/prompt
//	◄ session/update: chunks ─► Delta, Item            ◄ session/update: tool calls ─► Item
//	◄ session/request_permission ─► Permit             ► once, or not at all
//	◄ the answer to session/prompt ─► End
//
// A permission is given for one time only: an option that is for always is never chosen.
// Tool calls are put in the terms of the field's tools by what the agent says of them
// (its kind, the paths, the differences, the arguments), so that the guards judge them as
// they judge others. What says too little is judged by its kind alone, under its name.
//
// What is sent has the types of github.com/coder/acp-go-sdk; what comes is read with
// types of our own, because an agent of a newer protocol says more, and because lines may
// be longer than that library reads.
package acp
