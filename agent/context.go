package agent

import "context"

type agentKey struct{}

// FromContext returns the agent whose tool call runs, if ctx is the context that [tool.Tool].Run or
// [Options].EnterDir received. For any other context it returns nil.
func FromContext(ctx context.Context) *Agent {
	a, _ := ctx.Value(agentKey{}).(*Agent)
	return a
}
