package agent

import "context"

type agentKey struct{}

// FromContext returns the agent whose tool call runs, from the context of [tool.Tool].Run, or nil
// outside of a call.
func FromContext(ctx context.Context) *Agent {
	a, _ := ctx.Value(agentKey{}).(*Agent)
	return a
}
