package agent

import "context"

type ofKey struct{}

// FromContext is the agent whose call a tool runs, from the context of [tool.Tool].Run; nil outside
// of one.
func FromContext(ctx context.Context) *Agent {
	a, _ := ctx.Value(ofKey{}).(*Agent)
	return a
}
