package record

// Kinds of records whose payloads only this project writes, and the payload of each. Package
// session has the others, and the closed set.
const (
	KindTurnOpened       = "turn.opened"       // TurnOpened
	KindTurnClosed       = "turn.closed"       // TurnClosed
	KindToolStarted      = "tool.started"      // ToolStarted
	KindToolFinished     = "tool.finished"     // ToolFinished
	KindApprovalAsked    = "approval.asked"    // package approval
	KindApprovalResolved = "approval.resolved" // package approval
	KindDecision         = "decision"          // policy.Decision
	KindPolicyChanged    = "policy.changed"    // PolicyChanged
	KindHookRan          = "hook.ran"          // HookRan
	KindVendorMapped     = "vendor.mapped"     // package workspace
	KindWorkspaceEvent   = "workspace.event"   // package workspace
	KindTaskChanged      = "task.changed"      // package internal/tool/tasks
	KindFileSaved        = "file.saved"        // FileSaved
	KindRunEvent         = "run.event"         // package internal/daemon/wire
	KindModelCalled      = "model.called"      // ModelCalled
	KindRedacted         = "redacted"          // Redacted
	KindAccess           = "access"            // audit.Access, in a log of its own
)
