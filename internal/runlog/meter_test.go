package runlog

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Every model call counts once: an answer of this log, a call without an item, and what only the
// end of a turn tells. What was imported does not count.
func TestMeter(t *testing.T) {
	of := func(kind session.Kind, payload string) session.Record {
		return session.Record{Kind: kind, Payload: json.RawMessage(payload)}
	}
	answer := transcript.Item{
		ID: "i", Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishStop, Usage: &transcript.Usage{Input: 3, Output: 7},
		Parts: []transcript.Part{transcript.Text{Text: "x"}},
	}.MustEncode()
	plain := session.Record{Kind: session.KindItem, Payload: session.ItemDraft(answer, false, nil).Payload}
	marked := session.Record{Kind: session.KindItem, Payload: session.ItemDraft(answer, false, &record.RequestMark{API: "a"}).Costing(1.5).Payload}
	opened, closed := of(record.KindTurnOpened, `{"turn":"t"}`), of(record.KindTurnClosed, `{"turn":"t","reason":"completed","cost_usd":2}`)
	aside := of(record.KindModelCalled, `{"model":"n","usage":{"input":1,"output":1},"cost_usd":0.5,"for":"aside"}`)
	for _, tt := range []struct {
		name                  string
		log                   []session.Record
		calls, tools, denials int
		tokens                int64
		usd                   float64
	}{
		{"nothing", nil, 0, 0, 0, 0, 0},
		{"a turn", []session.Record{opened, marked, aside, closed}, 2, 0, 0, 12, 2},
		{"only the end tells the cost", []session.Record{opened, plain, closed}, 1, 0, 0, 10, 2},
		{"two turns", []session.Record{opened, marked, aside, closed, opened, marked}, 3, 0, 0, 22, 3.5},
		{"imported", []session.Record{plain, plain}, 0, 0, 0, 0, 0},
		{"erased", []session.Record{opened, {Kind: session.KindItem}}, 0, 0, 0, 0, 0},
		{"damaged", []session.Record{of(record.KindModelCalled, `[]`), of(record.KindDecision, `7`)}, 0, 0, 0, 0, 0},
		{"calls", []session.Record{opened, marked, of(record.KindToolStarted, `{"tool":"Bash"}`), of(record.KindDecision, `{"effect":"deny"}`), of(record.KindDecision, `{"effect":"allow"}`)}, 1, 1, 1, 10, 1.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Meter
			var total Charge
			for _, r := range tt.log {
				if c, ok := m.Read(r); ok {
					if c.Model == "" {
						t.Errorf("%s has no model", r.Kind)
					}
					total.Add(c)
				}
			}
			if total.ModelCalls != tt.calls || total.ToolCalls != tt.tools || total.Denials != tt.denials || total.Usage.Total() != tt.tokens || total.CostUSD != tt.usd {
				t.Errorf("%+v, want %+v", total, tt)
			}
		})
	}
}

// The answer of a sub-agent names its session, so that it is not counted again.
func TestMeterOfAgents(t *testing.T) {
	var m Meter
	c, ok := m.Read(session.Record{Kind: record.KindModelCalled, Payload: json.RawMessage(`{"model":"n","usage":{"input":1},"for":"agent","session":"sub"}`)})
	if !ok || c.Agent != "sub" || c.Answer {
		t.Errorf("%+v", c)
	}
	c, _ = m.Read(session.Record{Kind: record.KindModelCalled, Payload: json.RawMessage(`{"model":"n","usage":{"input":1},"for":"attempt","session":"sub"}`)})
	if c.Agent != "" {
		t.Errorf("a failed attempt is in no other log: %+v", c)
	}
}
