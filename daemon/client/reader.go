package client

import (
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
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
type partialAnswer struct {
	whole bool            // no piece was lost so far
	text  strings.Builder // the yielded part
}

// read sets the run events of e. It reports whether there is an event to yield.
func (r *eventReader) read(e *Event) bool {
	switch {
	case e.Record != nil:
		r.record(e)
	case e.Gap:
		r.gap()
	case len(e.Events) > 0:
		return r.delta(e.Agent, e.Events[0])
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

// delta reports whether a delta is to be yielded. It returns false if earlier deltas are missing.
func (r *eventReader) delta(agent string, e event.Event) bool {
	a := r.answers[agent]
	if a == nil {
		if r.answers == nil {
			r.answers = map[string]*partialAnswer{}
		}
		a = new(partialAnswer)
		r.answers[agent] = a
	}
	switch e := e.(type) {
	case event.ModelStarted:
		a.whole = true
		a.text.Reset()
	case event.ModelRetrying:
		a.text.Reset()
	case event.TextDelta:
		if a.whole {
			a.text.WriteString(e.Text)
		}
		return a.whole
	case event.ThinkingDelta, event.ToolInputDelta:
		return a.whole
	}
	return true
}

// answered ends the text that was being received, and returns its lost part if the beginning was
// yielded. If an agent works in the run's own session, it is the only agent of the run.
func (r *eventReader) answered(of *api.Record, text string) (rest string) {
	for agent, a := range r.answers {
		if of.Session != "" && of.Agent != agent {
			continue
		}
		if begun := a.text.String(); begun != "" && !a.whole {
			if more, ok := strings.CutPrefix(text, begun); ok {
				rest = more
			}
		}
		a.text.Reset()
		a.whole = false
	}
	return rest
}

// gap handles an event that reports lost deltas.
func (r *eventReader) gap() {
	for _, a := range r.answers {
		a.whole = false
	}
}
