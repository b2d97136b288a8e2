package transcript

import "testing"

// What a tool has to say may be structured content alone.
func TestTheTextOfAResultHasItsStructuredContent(t *testing.T) {
	r := ToolResult{Content: []Part{Text{Text: "so:"}, Media{MIME: "image/png"}, Structured{Value: []byte(`{"a":1}`)}}}
	if got := r.Text(); got != "so:\n{\"a\":1}" {
		t.Errorf("got %q", got)
	}
}
