package hostpipe

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/transcript"
)

// plainNative returns an item without its native form if that form could not be part of a model's
// answer. Adapters send native forms unchanged. A forged one could name an address that the
// provider fetches, and so send data out of a container that has no network.
func plainNative(item transcript.Encoded, api string) (transcript.Encoded, error) {
	native := item.Native(api)
	if len(native) == 0 {
		return item, nil
	}
	root, err := jsontree.Parse(native)
	if err == nil && isModelMessage(&root) {
		return item, nil
	}
	it, err := item.Decode()
	if err != nil {
		return item, err
	}
	it.Native = nil
	return it.Encode()
}

// isModelMessage reports whether a native form is a list of blocks, or an assistant message, that contains only
// text, thinking and tool uses.
func isModelMessage(n *jsontree.Node) bool {
	if n.Kind == jsontree.List {
		return !slices.ContainsFunc(n.Items, func(block jsontree.Node) bool { return !isModelBlock(&block) })
	}
	if n.Kind != jsontree.Object {
		return false
	}
	role := false
	for i := range n.Members {
		switch m := &n.Members[i]; m.Key {
		case "role":
			role = m.Value.Text == "assistant"
		case "content", "refusal", "reasoning_content", "reasoning":
			if m.Value.Kind != jsontree.Text && m.Value.Kind != jsontree.Null {
				return false
			}
		case "tool_calls":
			if m.Value.Kind != jsontree.List || !isModelMessage(&m.Value) {
				return false
			}
		default:
			return false
		}
	}
	return role
}

func isModelBlock(n *jsontree.Node) bool {
	if n.Kind != jsontree.Object {
		return false
	}
	i := slices.IndexFunc(n.Members, func(m jsontree.Member) bool { return m.Key == "type" })
	if i < 0 {
		return false
	}
	switch n.Members[i].Value.Text {
	case "text", "thinking", "redacted_thinking", "tool_use", "function":
		return true
	}
	return false
}
