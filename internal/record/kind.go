package record

// FormatVersion is the version of the record format that package session writes. Logs with a greater
// version are rejected.
const FormatVersion = 1

// The kinds of records, with the payload of each kind.
const (
	KindOpened           = "session.opened"    // session.Opened; always the first record of a log
	KindItem             = "item"              // an item; see ReadItem
	KindRewrite          = "rewrite"           // session.Rewrite
	KindMetaChanged      = "meta.changed"      // session.MetaPatch
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
	KindAccess           = "access"            // audit.Access, in a separate log
)

// Kinds returns all kinds.
func Kinds() []string {
	return []string{
		KindOpened, KindItem, KindTurnOpened, KindTurnClosed, KindToolStarted, KindToolFinished,
		KindApprovalAsked, KindApprovalResolved, KindDecision, KindPolicyChanged, KindHookRan,
		KindRewrite, KindMetaChanged, KindVendorMapped, KindWorkspaceEvent, KindTaskChanged, KindFileSaved, KindModelCalled, KindRedacted, KindRunEvent,
		KindAccess,
	}
}
