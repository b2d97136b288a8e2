package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/conversation"
)

// The user's setting decides about two columns; without it, the width does.
func TestSides(t *testing.T) {
	call := &conversation.Call{Tool: "Edit", Input: []byte(`{"file_path":"a.go"}`), Diff: "@@ -1 +1 @@\n-was\n+now\n"}
	for _, tt := range []struct {
		sides string
		width int
		want  bool
	}{{"", 80, false}, {"", 140, true}, {"auto", 140, true}, {"unified", 140, false}, {"side", 80, true}} {
		r := &Renderer{Sides: tt.sides}
		lines := r.Block(&conversation.Block{Kind: conversation.Called, Call: call}, tt.width)
		both := slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "was") && strings.Contains(l, "now") })
		if both != tt.want {
			t.Errorf("%q at %d:\n%s", tt.sides, tt.width, strings.Join(lines, "\n"))
		}
	}
}
