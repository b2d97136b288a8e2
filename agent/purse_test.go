package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// What a sub-agent spends between two turns of its parent is on record as a cost of the next.
func TestWhatIsSpentBetweenTurnsIsOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		scout := play(t, step{text: "found it", usage: &transcript.Usage{Input: 1e6}, during: func(context.Context) { <-let }})
		scout.info.Price = &model.Price{Input: 2}
		h := newHouse(t, agent.Options{Background: agent.NewBackground(nil)},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "look", `,"run_in_background":true`)}}, {text: "meanwhile"}, {text: "I see"}},
			map[string]*fake{"scout": scout}, kind("scout"))
		prompt(t, h.parent, "begin")
		close(let)
		synctest.Wait()
		if res := last(t, answerQueue(t, h.parent)); res.CostUSD != 0 {
			t.Errorf("the second run cost %v by itself", res.CostUSD)
		}
		if err := h.parent.Close(); err != nil {
			t.Fatal(err)
		}
		var cost float64
		for r, err := range h.sessions.Records(t.Context(), h.parent.SessionID(), session.Range{}) {
			var c session.TurnClosed
			if err != nil || r.Kind == session.KindTurnClosed && json.Unmarshal(r.Payload, &c) != nil {
				t.Fatal(err)
			}
			cost += c.Cost
		}
		if cost != 2 {
			t.Errorf("the turns have cost %v", cost)
		}
	})
}
