package session_test

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// answerOf is an assistant item of so many tokens.
func answerOf(t *testing.T, id string, tokens int64) transcript.Encoded {
	t.Helper()
	e, err := transcript.Item{
		ID: id, Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishStop, Usage: &transcript.Usage{Output: tokens},
		Parts:    []transcript.Part{transcript.Text{Text: `,"cost_usd":7}`}},
		Metadata: map[string]json.RawMessage{"x": json.RawMessage(`{"a":1,"cost_usd":9}`)},
	}.Encode()

	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The cost of a run is the sum of its recorded calls, whether or not their turn was closed; in
// logs of older versions it is that of the closed turns. A fork starts at zero.
func TestStateRunCost(t *testing.T) {
	mark := &record.RequestMark{API: "a", Messages: 1}
	open := draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t1", Budget: &record.Budget{USD: 5}})
	item := session.ItemDraft(answerOf(t, "i1", 10), false, mark).Costing(1.5)
	called := draft(t, record.KindModelCalled, record.ModelCalled{Purpose: "aside", Usage: transcript.Usage{Input: 3}, Cost: 0.5})
	closed := func(cost float64) session.Draft {
		return draft(t, record.KindTurnClosed, record.TurnClosed{Turn: "t1", Reason: "completed", Cost: cost})
	}
	for _, tt := range []struct {
		name   string
		drafts []session.Draft
		usd    float64
		tokens int64
	}{
		{"cut off", []session.Draft{open, item, called}, 2, 13},
		{"closed", []session.Draft{open, item, called, closed(2)}, 2, 13},
		{"of an older version", []session.Draft{open, session.ItemDraft(answerOf(t, "i1", 10), false, mark), closed(2)}, 2, 10},
		{"cut off, then closed by a restart, then another", []session.Draft{open, item, closed(0), open, called, closed(0.5)}, 2, 13},
		{"older, then newer", []session.Draft{open, closed(3), open, item, closed(1.5)}, 4.5, 10},
		{"between turns", []session.Draft{open, item, closed(1.5), called}, 2, 13},
		{"imported", []session.Draft{session.ItemDraft(answerOf(t, "i1", 10), false, nil)}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			log, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			recs, err := log.Append(t.Context(), tt.drafts...)
			if err != nil {
				t.Fatal(err)
			}
			st, err := log.Snapshot(t.Context())
			if err != nil || st.CostUSD != tt.usd || st.Tokens != tt.tokens {
				t.Errorf("%v USD and %d tokens, want %v and %d (%v)", st.CostUSD, st.Tokens, tt.usd, tt.tokens, err)
			}
			for i, r := range recs {
				if it, err := record.ReadItem(r.Payload); err == nil && r.Kind == session.KindItem {
					want := 0.0
					if string(tt.drafts[i].Payload) == string(item.Payload) {
						want = 1.5
					}
					if it.Cost() != want {
						t.Errorf("the item cost %v, want %v", it.Cost(), want)
					}
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			fork, err := s.Fork(t.Context(), "s", nil)
			if err != nil {
				t.Fatal(err)
			}
			log, err = s.Open(t.Context(), fork, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if st, err = log.Snapshot(t.Context()); err != nil || st.CostUSD != 0 || st.Tokens != 0 || st.Budget != (record.Budget{}) {
				t.Errorf("the fork has spent %v USD and %d tokens of %+v (%v)", st.CostUSD, st.Tokens, st.Budget, err)
			}
		})
	}
}
