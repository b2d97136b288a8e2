package cli

import (
	"cmp"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// tally makes the result of a run from its records, for when the agent's own was lost.
type tally struct {
	turns   int
	usage   transcript.Usage
	byModel map[string]event.ModelUsage
	denials []policy.Decision
	finish  transcript.Finish
	text    []string
	closed  session.TurnClosed
	began   time.Time
	ended   time.Time
}

// record takes what a record says beyond its events.
func (t *tally) record(r *api.Record) error {
	if t.began.IsZero() {
		t.began = r.Time
	}
	t.ended = r.Time
	if r.Kind != session.KindTurnClosed {
		return nil
	}
	return into(r, func(c session.TurnClosed) { t.closed = c })
}

// event counts an event of the run's agent.
func (t *tally) event(e event.Event) {
	switch e := e.(type) {
	case event.Decided:
		if e.Decision.Effect == policy.Deny {
			t.denials = append(t.denials, e.Decision)
		}
	case event.ItemAppended:
		if e.Item.Role() == transcript.RoleAssistant {
			t.answer(e.Item)
		}
	}
}

func (t *tally) answer(it transcript.Encoded) {
	t.turns++
	t.finish = it.Finish()
	if text := it.Text(); text != "" {
		t.text = append(t.text, text)
	}
	item, err := it.Decode()
	if err != nil || item.Usage == nil {
		return
	}
	t.usage = t.usage.Add(*item.Usage)
	if t.byModel == nil {
		t.byModel = map[string]event.ModelUsage{}
	}
	m := t.byModel[item.Model]
	m.Usage, m.Calls = m.Usage.Add(*item.Usage), m.Calls+1
	t.byModel[item.Model] = m
}

// result is the result of a run that has ended as e says.
func (t *tally) result(id string, e *wire.RunEvent) event.Result {
	r := event.Result{
		SessionID: id, Turn: t.closed.Turn, Reason: event.Reason(t.closed.Reason), Text: strings.Join(t.text, "\n"),
		Turns: t.turns, Usage: t.usage, CostUSD: t.closed.Cost, ByModel: t.byModel, Denials: t.denials,
		Took: t.ended.Sub(t.began), Finish: t.finish,
	}
	switch e.Event {
	case wire.RunCancelled:
		r.Reason = event.ReasonInterrupted
	case wire.RunFailed:
		if r.Reason == "" || r.Reason == event.ReasonCompleted {
			r.Reason = event.ReasonFailed
		}
		r.Err = &outcome.Failure{Message: cmp.Or(t.closed.Error, e.Message), Result: outcome.Failed}
	case wire.RunCompleted:
		r.Reason = event.ReasonCompleted
	}
	return r
}
