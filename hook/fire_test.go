package hook

import (
	"context"
	"testing"
)

func BenchmarkFire20(b *testing.B) {
	r := New(nil)
	for range 20 {
		if err := r.On(PreToolUse, "", func(context.Context, Input) (*Output, error) { return nil, nil }); err != nil {
			b.Fatal(err)
		}
	}
	in := Input{Event: PreToolUse, Tool: "Bash", ToolInput: []byte(`{"command":"ls"}`)}
	b.ReportAllocs()
	for b.Loop() {
		r.Fire(b.Context(), in)
	}
}
