package client

import (
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// eventReader converts the daemon's events to run events. Run events of records are complete;
// deltas may be lost.
type eventReader struct {
	state   recordevents.Reader
	answers map[string]*partialAnswer // by agent
}

// partialAnswer is the text of a model answer in progress.
//
//	model_started ─► whole ─► gap ─► model_started again ─► repeats the text ─► whole
type partialAnswer struct {
	whole   bool // no piece was lost so far
	text    deltas.Text
	repeats *event.ModelStarted // the daemon sends the text again; its start was not yielded again
	at      deltas.Position     // how much of the text was repeated
}

// read sets the run events of e. It reports whether there is an event to yield.
func (r *eventReader) read(e *Event) bool {
	switch {
	case e.Record != nil:
		r.record(e)
	case e.Gap:
		r.gap()
	case len(e.Events) > 0:
		e.Events = r.delta(e.Agent, e.Events[0])
		return len(e.Events) > 0
	}
	return true
}

func (r *eventReader) record(e *Event) {
	of := e.Record
	rec := session.Record{Seq: of.Seq, ID: of.ID, Time: of.Time, Kind: of.Kind, Payload: of.Payload}
	var list []event.Event
	if of.Session == "" {
		list, e.Err = r.state.Events(rec)
	} else {
		rec.Seq = of.Origin
		list, e.Err = r.state.Relayed(of.Session, of.Agent, rec)
	}
	for _, one := range list {
		if it, ok := one.(event.ItemAppended); ok && it.Item.Role() == transcript.RoleAssistant {
			if rest := r.answered(of, it.Item.Text()); rest != "" {
				e.Events = append(e.Events, event.TextDelta{Text: rest})
			}
		}
		e.Events = append(e.Events, one)
	}
}

// delta returns the events to yield for a delta: none if earlier deltas are missing, or if the delta
// repeats text that was yielded before a gap.
func (r *eventReader) delta(agent string, e event.Event) []event.Event {
	a := r.answers[agent]
	if a == nil {
		if r.answers == nil {
			r.answers = map[string]*partialAnswer{}
		}
		a = new(partialAnswer)
		r.answers[agent] = a
	}
	switch d := e.(type) {
	case event.ModelStarted:
		if !a.whole && a.text.Size() > 0 {
			a.repeats, a.at = &d, deltas.Position{}
			return nil
		}
		*a = partialAnswer{whole: true}
	case event.ModelRetrying:
		a.text, a.repeats = deltas.Text{}, nil
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		return a.piece(e)
	}
	return []event.Event{e}
}

// piece returns the events to yield for a piece of the answer.
func (a *partialAnswer) piece(e event.Event) []event.Event {
	var list []event.Event
	if a.repeats != nil {
		rest, ok := a.text.Skip(&a.at, e)
		switch {
		case !ok: // it is another answer
			again := a.text.Until(a.at)
			list = append([]event.Event{*a.repeats}, again.Events()...)
			a.text = *again
		case rest == nil:
			return nil
		default:
			e = rest
		}
		a.whole, a.repeats = true, nil
	}
	if !a.whole {
		return nil
	}
	a.text.Add(e)
	return append(list, e)
}

// answered ends the text that was being received, and returns its lost part if the beginning was
// yielded. If an agent works in the run's own session, it is the only agent of the run.
func (r *eventReader) answered(of *api.Record, text string) (rest string) {
	for agent, a := range r.answers {
		if of.Session != "" && of.Agent != agent {
			continue
		}
		if begun := a.text.Answer(); begun != "" && !a.whole {
			if more, ok := strings.CutPrefix(text, begun); ok {
				rest = more
			}
		}
		*a = partialAnswer{}
	}
	return rest
}

// gap handles an event that reports lost deltas.
func (r *eventReader) gap() {
	for _, a := range r.answers {
		a.whole, a.repeats = false, nil
	}
}
