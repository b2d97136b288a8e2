// Package codex drives Codex over the JSON-RPC of `codex app-server`, in lines, without the standard's version
// field.
//
//	► initialize, initialized, account/login/start (with a key in the environment)
//	► thread/start or thread/resume ─► SessionStarted    ► turn/start
//	◄ item/agentMessage/delta ─► Delta           ◄ item/started, item/completed ─► Item
//	◄ item/…/requestApproval ─► Permit           ► its decision
//	◄ turn/completed ─► End
//
// `codex exec --json` has the same items but never requests permission: an action it may not run fails. The server
// requests permission before each command and each file change if its policy is "untrusted". Its own sandbox is
// off, because it does not work inside the container, which is the sandbox. Actions that it runs without asking
// (such as a web search) are reported as running.
//
// The items differ from those of a rollout, which package convert reads: a command is one item here with its
// output. Names and arguments of tools are converted to those of Claude Code's tools, so that the guards decide
// about them as about others:
//
//	commandExecution ─► Bash {command, cwd}     mcpToolCall ─► mcp__server__tool
//	fileChange ───────► apply_patch {changes}   webSearch ──► WebSearch   imageView ─► Read
//
// The protocol is that of version 0.169.0, from recordings. Unknown items and requests are reported as notices;
// unknown requests are rejected.
package codex
