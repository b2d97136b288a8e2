package recordevents

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// subagentStream is an agent that works for a run in a session of its own.
type subagentStream struct {
	name   string
	caller string // the session whose tool use has started it; "" for an agent of a strategy
	use    string
	reader Reader
}

// Relayed returns the events of a record of another session that the log relays: that of an agent
// of the run, called name. Those of a sub-agent are each a [event.SubagentEvent] of the use that has
// started it, as its agent tells them.
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

// wrap makes an event of a sub-agent one of the use that has started it, which may be one of
// another sub-agent. An event of any other session stays as it is.
func (s *Reader) wrap(id string, e event.Event) event.Event {
	for range s.agents { // as many at most, whatever their records say
		a := s.agents[id]
		if a == nil || a.use == "" {
			break
		}
		e = event.SubagentEvent{Use: a.use, Session: id, Name: a.name, Event: e}
		id = a.caller
	}
	return e
}

// asker is the session of the sub-agent whose question an event is about, or "".
func asker(e event.Event) string {
	switch e := e.(type) {
	case event.ApprovalAsked:
		return e.Request.Asker
	case event.ApprovalResolved:
		return e.Answer.Asker
	}
	return ""
}

// runEvent reads what the daemon records of a run: that its agent has opened the session, what was
// found there, and how the run ended.
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
		if res, ok := e.(event.Result); ok && res.Text == "" { // the record has it once
			res.Text = p.Text
			e = res
		}
		list = append(list, e)
	}
	return list, nil
}
