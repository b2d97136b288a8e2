package recordevents

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// subagentStream converts the records of another agent of the run, which has its own session.
type subagentStream struct {
	name   string
	caller string // the session whose tool use started it; "" for an agent that a strategy started
	use    string
	reader Reader
}

// Relayed returns the events of a relayed record. Such a record belongs to another session, whose
// agent belongs to the run and has this name. The events of a sub-agent are [event.SubagentEvent]s
// with the tool use that started the sub-agent, as its parent emits them.
func (s *Reader) Relayed(id, name string, r session.Record) ([]event.Event, error) {
	a := s.agents[id]
	if a == nil {
		if s.agents == nil {
			s.agents = map[string]*subagentStream{}
		}
		a = &subagentStream{name: name}
		s.agents[id] = a
	}
	if r.Kind == record.KindOpened && r.Payload != nil {
		var o session.Opened
		if err := json.Unmarshal(r.Payload, &o); err != nil {
			return nil, fmt.Errorf("record %d cannot be read: %w", r.Seq, err)
		}
		a.caller, a.use = o.Caller, o.Use
	}
	list, err := a.reader.Events(r)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		list[i] = s.wrap(id, e)
	}
	return list, nil
}

// wrap wraps an event of a sub-agent in a [event.SubagentEvent] with the tool use that started the
// sub-agent. It does this once for each level of sub-agents. It returns an event of any other
// session unchanged.
func (s *Reader) wrap(id string, e event.Event) event.Event {
	for range s.agents { // limits the loop even if the records are wrong
		a := s.agents[id]
		if a == nil || a.use == "" {
			break
		}
		e = event.SubagentEvent{Use: a.use, Session: id, Name: a.name, Event: e}
		id = a.caller
	}
	return e
}

// asker returns the session id of the sub-agent whose approval request an event is about. For other
// events it returns "".
func asker(e event.Event) string {
	switch e := e.(type) {
	case event.ApprovalAsked:
		return e.Request.Asker
	case event.ApprovalResolved:
		return e.Answer.Asker
	}
	return ""
}

// runEvent converts the daemon's records for a run: the opening of the session, notices about the
// run, and its result.
func (s *Reader) runEvent(r *session.Record) ([]event.Event, error) {
	var p struct {
		Event   string          `json:"event"`
		Opened  json.RawMessage `json:"opened"`
		Result  json.RawMessage `json:"result"`
		Text    string          `json:"text"`
		Notices []string        `json:"notices"`
	}
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return nil, err
	}
	var list []event.Event
	switch {
	case p.Event == "started":
		s.opened = p.Opened != nil
	case p.Event == "opened" && !s.opened:
		for _, n := range p.Notices {
			list = append(list, event.Notice{Text: n})
		}
	}
	for _, form := range []json.RawMessage{p.Opened, p.Result} {
		if form == nil {
			continue
		}
		e, err := event.Unmarshal(form)
		if err != nil {
			return nil, err
		}
		if res, ok := e.(event.Result); ok && res.Text == "" { // the record contains the text only once
			res.Text = p.Text
			e = res
		}
		list = append(list, e)
	}
	return list, nil
}
