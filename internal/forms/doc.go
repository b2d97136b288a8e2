// Package forms reads the inputs of calls that ask a person, and the inputs that answer them:
//
//	AskUserQuestion   {"questions": [...]}                ─► {"answers": {...}}
//	ExitPlanMode      {"plan": "..."}                     ─► {"mode": "acceptEdits"}
//	an MCP server     {"requestedSchema": {...}, ...}     ─► {"content": {...}}
//
// docs/plan-mode.md and docs/reference/approvals.md describe them.
package forms
