//go:build unix

package workspace

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
)

// The turn of the built-in agent ends with its process, also while an approval request is pending.
func TestBuiltinEndsDuringApproval(t *testing.T) {
	h := newBuiltinEnv(t, "steps:\n  - tool_uses: [{tool: Bash, input: {command: touch made}}]\n  - text: done\n")
	h.o.Spec.Run.Permissions.Mode = "default"
	h.o.Ask = func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		h.mu.Lock()
		p := h.started[0]
		h.mu.Unlock()
		if err := p.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return approval.Answer{}, ctx.Err()
	}
	_, res := h.run(t.Context(), h.agent(), "go", nil)
	if res.Reason == event.ReasonCompleted {
		t.Errorf("%+v", res)
	}
}
