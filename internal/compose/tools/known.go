package tools

// KnownTools lists the tools that rules can name: those available in some folder or setting, and
// similar tools of Claude Code, whose rules users may import.
func KnownTools() []string {
	return []string{
		"Agent", "AskUser", "AskUserQuestion", "Bash", "CronList", "Edit", "EnterPlanMode", "EnterWorktree", "Exec", "ExitPlanMode",
		"ExitWorktree", "Glob", "Grep", "LS", "LSP", "ListMcpResources", "MultiEdit", "NotebookEdit", "Read", "ReadMcpResource", "SendMessage",
		"Skill", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete",
		"TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write", "pause_for_human",
	}
}
