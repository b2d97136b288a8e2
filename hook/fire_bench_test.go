package hook

import (
	"context"
	"testing"
)

func benchmarkFire(b *testing.B, list ...Definition) {
	r := New(&Options{Runner: runFunc(func(context.Context, *Definition, *Input) (RunResult, error) { return RunResult{}, nil })})
	if err := r.Register(list...); err != nil {
		b.Fatal(err)
	}
	in := Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash", Input: []byte(`{"command":"ls"}`)}}
	b.ReportAllocs()
	for b.Loop() {
		r.Fire(b.Context(), in)
	}
}

func many(n int, d Definition) []Definition {
	list := make([]Definition, n)
	for i := range list {
		list[i] = d
	}
	return list
}

func BenchmarkFire1(b *testing.B) { benchmarkFire(b, Definition{Event: PreToolUse, Func: quiet}) }

func BenchmarkFire20(b *testing.B) {
	benchmarkFire(b, many(20, Definition{Event: PreToolUse, Func: quiet})...)
}

func BenchmarkFire20OfATool(b *testing.B) {
	benchmarkFire(b, many(20, Definition{Event: PreToolUse, Matcher: "Bash|Edit", Func: quiet})...)
}

func BenchmarkFire20OfOtherTools(b *testing.B) {
	benchmarkFire(b, many(20, Definition{Event: PreToolUse, Matcher: "Edit|Write", Func: quiet})...)
}

func BenchmarkFireCommand(b *testing.B) {
	benchmarkFire(b, Definition{Event: PreToolUse, Command: "true"})
}

func BenchmarkHas(b *testing.B) {
	r := New(nil)
	if err := r.HandleFunc(PreToolUse, "", quiet); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r.Has(Stop) {
			b.Fatal("it has")
		}
	}
}
