package runlog

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Each look at the day adds what is new, counts the answer of a sub-agent once, and begins at zero
// on the next day.
func TestDay(t *testing.T) {
	s := session.New(memory.New(), nil)
	answer := func(usd float64) session.Draft {
		it := transcript.Item{Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "x"}}}
		it.ID = s.NewID()
		return session.ItemDraft(it.MustEncode(), false, &record.RequestMark{API: "a"}).Costing(usd)
	}
	called := func(payload string) session.Draft {
		return session.Draft{Kind: record.KindModelCalled, Payload: json.RawMessage(payload)}
	}
	log := func(id, owner string) *session.Log {
		l, err := s.Create(t.Context(), session.Opened{SessionID: id, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	run, sub := log("run", ""), log("sub", "run")
	var d Day
	now := time.Now()
	step := func(l *session.Log, want float64, drafts ...session.Draft) {
		t.Helper()
		if _, err := l.Append(t.Context(), drafts...); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Cost(t.Context(), s, now); err != nil || got != want {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	step(run, 1, answer(1))
	step(run, 3, answer(2))
	step(sub, 3.5, answer(0.5))
	step(run, 3.5, called(`{"model":"m","cost_usd":0.5,"for":"agent","session":"sub"}`))
	now = now.AddDate(0, 0, 1)
	if got, err := d.Cost(t.Context(), s, now); got != 0 || err != nil {
		t.Errorf("the next day: %v %v", got, err)
	}
}
