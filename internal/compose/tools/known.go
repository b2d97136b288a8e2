package tools

import (
	"fmt"
	"strings"
)

// KnownTools are the tools that rules can be about: those that there are in some folder or
// setting, and Claude Code's of the same kind, whose rules people bring along.
func KnownTools() []string {
	return []string{
		"Agent", "AskUser", "AskUserQuestion", "Bash", "CronList", "Edit", "EnterPlanMode", "EnterWorktree", "Exec", "ExitPlanMode",
		"ExitWorktree", "Glob", "Grep", "LS", "LSP", "ListMcpResources", "MultiEdit", "NotebookEdit", "Read", "ReadMcpResource", "SendMessage",
		"Skill", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete",
		"TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write", "pause_for_human",
	}
}

// plural writes "1 rule" or "3 rules".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// quote quotes a word for a POSIX shell when it needs it.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
