package audit_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// long makes a session of 4 records for each call.
func long(tb testing.TB, n int) *session.Sessions {
	tb.Helper()
	s := session.New(memory.New(), nil)
	l, err := s.Create(tb.Context(), session.Opened{SessionID: "s", User: "ann"})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		use := fmt.Sprint("u", i)
		var batch []session.Draft
		for _, d := range []draft{
			calls(transcript.ToolUse{ID: use, Name: "Bash", Input: json.RawMessage(`{"command":"go test ./..."}`)}),
			decide(use, "Bash", "rules", policy.Allow, func(d *policy.Decision) {
				d.Touches = []policy.Target{{Operation: policy.OpCommand, Resource: "go test ./..."}}
				d.Rule = &policy.Origin{Rule: "Bash(go test:*)", File: "/h/settings.json", Line: 3}
			}),
			start(use, "Bash"), finish(use, "Bash"),
		} {
			sd, err := session.NewDraft(d.kind, d.payload)
			if err != nil {
				tb.Fatal(err)
			}
			batch = append(batch, sd)
		}
		if _, err := l.Append(tb.Context(), batch...); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// Reading 100,000 records: the time of one, and what of it stays in memory.
func BenchmarkRead(b *testing.B) {
	s := long(b, 25_000)
	b.ResetTimer()
	for b.Loop() {
		n := 0
		var first, last runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&first)
		for _, err := range audit.Read(b.Context(), s, "s", nil) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == 50_000 {
				runtime.GC()
				runtime.ReadMemStats(&last)
			}
		}
		if n != 50_001 {
			b.Fatalf("%d entries", n)
		}
		b.ReportMetric(float64(int64(last.HeapAlloc)-int64(first.HeapAlloc))/1024, "KiB-kept")
	}
}
