package cli

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/tool/mcp"
)

// The person hears of a server that is waited for no longer: it may be one that never answers.
func TestLateServersAreNamed(t *testing.T) {
	got := late([]mcp.Status{{Name: "a", State: mcp.Connected}, {Name: "b", State: mcp.Connecting}, {Name: "c", State: mcp.Failed}, {Name: "d", State: mcp.NeedsAuth}})
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q, want b", got)
	}
}
