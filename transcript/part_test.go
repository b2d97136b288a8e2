package transcript

import "testing"

// A result may have only structured content.
func TestResultTextHasStructuredContent(t *testing.T) {
	r := ToolResult{Content: []Part{Text{Text: "so:"}, Media{MIME: "image/png"}, Structured{Value: []byte(`{"a":1}`)}}}
	if got := r.Text(); got != "so:\n{\"a\":1}" {
		t.Errorf("got %q", got)
	}
}
