// Package agentdef reads agent definitions: Markdown files with front matter in Claude Code's format, or
// JSON.
//
//	---
//	name: reviewer                     # lower-case letters, digits, hyphens; default: the file's name
//	description: Reviews changes.      # when to use it
//	tools: Read, Grep, Glob            # or a list; default: all of its parent's
//	disallowedTools: Bash
//	model: haiku                       # inherit, an alias, a model, PROVIDER/MODEL
//	permissionMode: plan               # never weaker than its parent's
//	maxTurns: 20
//	background: true
//	isolation: worktree                # each sub-agent in its own checkout
//	skills: commit, review             # loaded at the start
//	mcpServers:                        # in addition to its parent's, while it runs
//	  - tickets: {command: tickets}    # as in .mcp.readJSON
//	memory: project                    # a folder that it keeps between sessions; or user, local
//	---
//	You review changes.                # its system prompt
//
//	set := agentdef.Load(&agentdef.Options{Project: dir, Trusted: true, User: home})
//
// A [Problem] reports everything in a definition that is invalid or ignored, with its file, its line and
// how to fix it. An invalid definition is left out; the others are used.
package agentdef
