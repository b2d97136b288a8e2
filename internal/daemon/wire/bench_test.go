package wire

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

func BenchmarkDecodeDecision(b *testing.B) {
	frame := []byte(`{"type":"permission_decision","runId":"run_abc123","permissionRequestId":"perm-uuid-1234","decision":"allow"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, e := Decode(frame); e != nil {
			b.Fatal(e)
		}
	}
}

// BenchmarkDecodeHostile measures the most expensive frames of a hostile client: as large and as
// full as allowed.
func BenchmarkDecodeHostile(b *testing.B) {
	for name, frame := range map[string]string{
		"values":  `{"type":"prepare_run","strategy":{"a":[` + strings.Repeat("{},", maxValues-10) + `0]}}`,
		"text":    `{"type":"steer_run","runId":"r","text":"` + strings.Repeat(`\u0000`, 170_000) + `"}`,
		"unknown": `{"type":"ping"` + strings.Repeat(`,"`+strings.Repeat("k", 40)+`":1`, 2) + `,"x":"` + strings.Repeat("x", 1<<19) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				Decode([]byte(frame))
			}
		})
	}
}

func BenchmarkProject(b *testing.B) {
	for name, s := range map[string]Source{
		"answer": item(b, transcript.Item{
			ID: "i", Role: transcript.RoleAssistant, Model: "m", Usage: &transcript.Usage{Input: 10, Output: 5},
			Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("word ", 200)}, transcript.ToolUse{ID: "c", Name: "Bash", Input: Raw(`{"command":"ls"}`)}},
		}),
		"question": source(b, record.KindApprovalAsked, approvalRequest(policy.Request{Operation: policy.OpCommand, Resource: "git push", Input: Raw(`{"command":"git push"}`)})),
		"step":     events(b, RunEvent{Event: RunStepStarted, StepName: "draft", Agent: "writer"}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(Project("run-1", 9, s)) == 0 {
					b.Fatal("no frames")
				}
			}
		})
	}
}
