package view

import (
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
)

// asked reports a pending approval request that another client will answer.
func (v *Stream) asked(q approval.Request) error {
	return v.system("approval_asked", map[string]any{
		"approval_id": q.ID, "tool_use_id": q.Use, "tool_name": q.Tool, "reason": question.ReasonLine(q),
	})
}

// resolved writes the answer that decided the call.
func (v *Stream) resolved(e event.ApprovalResolved) error {
	fields := map[string]any{"approval_id": e.ID, "decision": e.Answer.Decision, "by": e.Answer.Actor, "via": e.Answer.Via}
	if e.Answer.Message != "" {
		fields["message"] = e.Answer.Message
	}
	return v.system("approval_resolved", fields)
}
