package tools

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
