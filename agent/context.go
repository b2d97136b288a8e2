package agent

import "context"

type ofKey struct{}

// FromContext returns the agent whose tool call runs, from the context of [tool.Tool].Run, or nil
// outside of a call.
func FromContext(ctx context.Context) *Agent {
	a, _ := ctx.Value(ofKey{}).(*Agent)
	return a
}
