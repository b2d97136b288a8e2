//go:build unix

package workspace

import (
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// BenchmarkBuiltinTurn measures a turn of the built-in agent in a separate process, without a container: from the
// call of Run to the model's first text, and to the end.
func BenchmarkBuiltinTurn(b *testing.B) {
	h := newBuiltinEnv(b, `
steps:
  - {when: {any: true}, text: Hello.}
`)
	a := h.agent()
	for b.Loop() {
		for e, err := range a.Run(b.Context(), transcript.Text{Text: "hello"}) {
			if err != nil {
				b.Fatal(err)
			}
			if r, ok := e.(event.Result); ok && r.Reason != event.ReasonCompleted {
				b.Fatalf("%+v", r)
			}
		}
	}
}
