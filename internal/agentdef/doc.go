// Package agentdef reads kinds of sub-agents as people write them down: Markdown files with
// front matter, as for Claude Code, or JSON.
//
//	---
//	name: reviewer                     # small letters, digits, hyphens; else the file's name
//	description: Reviews changes.      # when to use it
//	tools: Read, Grep, Glob            # or a list; without it all of its parent's
//	disallowedTools: Bash
//	model: haiku                       # inherit, an alias, a model, PROVIDER/MODEL
//	permissionMode: plan               # never weaker than its parent's
//	maxTurns: 20
//	background: true
//	isolation: worktree                # each in a checkout of its own
//	skills: commit, review             # that it has read when it begins
//	mcpServers:                        # besides those of its parent, for as long as it works
//	  - tickets: {command: tickets}    # as in .mcp.json
//	memory: project                    # a folder that outlives sessions; or user, local
//	---
//	You review changes.                # its system prompt
//
//	set := define.Load(&define.Options{Project: dir, Trusted: true, User: home})
//
// What says less than its writer may think is told: a problem names file, line and what to
// do. A file that cannot be used is left out, and ends nothing.
package agentdef
