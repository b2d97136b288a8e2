// Package codex speaks the wire of Codex: the JSON-RPC of `codex app-server`, in lines,
// without the standard's version field.
//
//	► initialize, initialized, account/login/start (with a key in the environment)
//	► thread/start or thread/resume ─► Began     ► turn/start
//	◄ item/agentMessage/delta ─► Delta           ◄ item/started, item/completed ─► Item
//	◄ item/…/requestApproval ─► Permit           ► its decision
//	◄ turn/completed ─► End
//
// `codex exec --json` has the items as well, but asks nobody: what it may not do fails.
// The server asks before each command and each change of files when its policy is
// "untrusted"; its own sandbox is off, because it cannot be set up inside the container,
// which is the sandbox. What it runs without asking (a search of the web, say) is told as
// running.
//
// Its items are not those of a rollout, which package convert reads: a command has one
// item here with its output, and the names and arguments of its tools are put in the
// terms of the field's, so that the guards judge them as they judge others:
//
//	commandExecution ─► Bash {command, cwd}     mcpToolCall ─► mcp__server__tool
//	fileChange ───────► apply_patch {changes}   webSearch ──► WebSearch   imageView ─► Read
//
// The wire is that of version 0.169.0 as it was recorded; items and questions of kinds
// that are not known are told as notices, and refused.
package codex
