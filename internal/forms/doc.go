// Package forms reads the inputs of calls that ask the user something, and the inputs that contain
// the user's answers:
//
//	AskUserQuestion   {"questions": [...]}                ─► {"answers": {...}}
//	ExitPlanMode      {"plan": "..."}                     ─► {"mode": "acceptEdits"}
//	an MCP server     {"requestedSchema": {...}, ...}     ─► {"content": {...}}
//
// It only reads and checks. Package cli/question asks at the terminal, and package approval stores
// the answers. docs/plan-mode.md and docs/reference/approvals.md describe these calls.
package forms
