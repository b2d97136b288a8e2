// Package codex drives Codex over the JSON-RPC of `codex app-server`. Each line is one message,
// without the version field of the standard.
//
//	► initialize, initialized, account/login/start (with a key in the environment)
//	► thread/start or thread/resume ─► SessionStarted    ► turn/start
//	◄ item/agentMessage/delta ─► Delta           ◄ item/started, item/completed ─► Item
//	◄ item/…/requestApproval ─► Permit           ► its decision
//	◄ turn/completed ─► End
//
// `codex exec --json` reports the same items but never requests permission. An action that needs
// permission fails there. The server requests permission before each command and each file change
// if its policy is "untrusted". Codex's own sandbox is turned off, because it does not work inside
// the container, and the container is the sandbox. Actions that Codex runs without a permission
// request (such as a web search) are reported as running.
//
// The items differ from those in a rollout file, which package convert reads: here a command and
// its output are one item. Names and arguments of tools are converted to those of Claude Code's
// tools, so that the guards decide about them in the same way:
//
//	commandExecution ─► Bash {command, cwd}     mcpToolCall ─► mcp__server__tool
//	fileChange ───────► apply_patch {changes}   webSearch ──► WebSearch   imageView ─► Read
//
// The protocol is that of version 0.169.0, from recordings. Unknown items and unknown requests are
// reported as notices, and unknown requests are also rejected.
package codex
