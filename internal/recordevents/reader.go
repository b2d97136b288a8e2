// Package recordevents converts records to events (package event).
//
//	var r recordevents.Reader
//	for record, err := range sessions.Records(ctx, id, session.Range{}) {
//		events, err := r.Events(record)
//	}
//
// It creates only durable events; package agent emits the provisional ones.
package recordevents

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Reader converts the records of one log in order. It remembers the inputs of tools and the
// running calls. The zero value starts at the first record of a log. A Reader is for the records of
// one session, and only one goroutine may use it.
type Reader struct {
	inputs   map[string]json.RawMessage // inputs of tool uses without a result
	running  map[string]bool            // ids of the tool uses of calls that have neither ended nor got a result
	finished *event.ToolFinished        // a call that has finished, and whose result is in the next record
	turned   bool                       // a turn has started
	opened   bool                       // the start record of the daemon contains the SessionOpened event
	agents   map[string]*subagentStream // agents whose records the log relays, by session
}

// Events returns the events of a record, in the order in which the agent emitted them. A record has
// no event, one event or two events. The result depends only on the record and on s, so the same
// records always give the same events. An erased record and a record of a kind without an event
// result in no events.
//
// A late answer (ApprovalResolved.LateAnswer) is not recorded. An approval request of a sub-agent
// is in the log of its run, with the session of the sub-agent in Request.Asker. It becomes an
// [event.SubagentEvent] if s knows the sub-agent from [Reader.Relayed]. Only runs of the daemon
// have records for [event.SessionOpened] and [event.Result].
func (s *Reader) Events(r session.Record) ([]event.Event, error) {
	finished := s.finished
	s.finished = nil
	list, err := s.events(&r, finished)
	if err != nil {
		return nil, fmt.Errorf("record %d cannot be read: %w", r.Seq, err)
	}
	for i, e := range list {
		list[i] = s.wrap(asker(e), e)
	}
	if finished != nil {
		list = append([]event.Event{*finished}, list...)
	}
	return list, nil
}

func (s *Reader) events(r *session.Record, finished *event.ToolFinished) ([]event.Event, error) {
	if r.Payload == nil {
		return nil, nil
	}
	switch r.Kind {
	case session.KindItem:
		return s.item(r, finished)
	case record.KindTurnOpened:
		s.turned = true
		return payload(r, func(p record.TurnOpened) event.Event { return event.TurnStarted{Turn: p.Turn} })
	case record.KindTurnClosed:
		return payload(r, func(p record.TurnClosed) event.Event {
			e := event.TurnFinished{Turn: p.Turn, Reason: event.Reason(p.Reason)}
			if p.Error != "" {
				e.Err = &event.Error{Message: p.Error}
			}
			return e
		})
	case record.KindDecision:
		return payload(r, func(d policy.Decision) event.Event {
			if d.Input != nil {
				s.called(d.Use, d.Input)
			}
			return event.DecisionMade{Decision: d}
		})
	case record.KindToolStarted:
		return payload(r, func(p record.ToolStarted) event.Event {
			if s.running == nil {
				s.running = map[string]bool{}
			}
			s.running[p.Use] = true
			p.Input = s.inputs[p.Use]
			return p
		})
	case record.KindToolFinished:
		return payload(r, s.ended)
	case record.KindHookRan:
		return payload(r, func(p record.HookRan) event.Event { return event.HookRan{Ran: p} })
	case record.KindApprovalAsked:
		return payload(r, func(q approval.Request) event.Event { return event.ApprovalAsked{Request: q} })
	case record.KindApprovalResolved:
		return payload(r, func(a approval.Answer) event.Event { return event.ApprovalResolved{ID: a.RequestID, Answer: a} })
	case record.KindPolicyChanged:
		var c policy.Change
		err := c.Parse(r.Payload)
		if err != nil || c.Mode != "" && !s.turned { // a mode that is set before the first turn is the starting mode, which has no event
			return nil, err
		}
		return []event.Event{event.PolicyChanged{Change: c}}, nil
	case record.KindRunEvent:
		return s.runEvent(r)
	}
	return nil, nil
}

// payload converts a record's payload to an event. convert returns nil if there is no event yet.
func payload[P any](r *session.Record, convert func(P) event.Event) ([]event.Event, error) {
	var p P
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return nil, err
	}
	if e := convert(p); e != nil {
		return []event.Event{e}, nil
	}
	return nil, nil
}

func (s *Reader) called(use string, input json.RawMessage) {
	if s.inputs == nil {
		s.inputs = map[string]json.RawMessage{}
	}
	s.inputs[use] = input
}

// ended keeps the event of a finished call until the next record, which contains the result of the
// call.
func (s *Reader) ended(e event.ToolFinished) event.Event {
	noResult := s.running[e.Use]
	delete(s.running, e.Use)
	if e.Outcome == record.OutcomeNotRun || !noResult { // the result of a background task is already known
		return e
	}
	s.finished = &e
	return nil
}

func (s *Reader) item(r *session.Record, finished *event.ToolFinished) ([]event.Event, error) {
	stored, err := record.ReadItem(r.Payload)
	if err != nil || stored.Queued {
		return nil, err
	}
	for _, u := range stored.Item.Uses() {
		s.called(u.ID, u.Input)
	}
	if stored.Item.Role() == transcript.RoleTool {
		if err := s.results(stored.Item, finished); err != nil {
			return nil, err
		}
	}
	return []event.Event{event.ItemAppended{Seq: r.Seq, Item: stored.Item}}, nil
}

// results adds the result to the event of the call that has just finished. A call that gets a result
// before its end continues in the background.
func (s *Reader) results(e transcript.Encoded, finished *event.ToolFinished) error {
	item, err := e.Decode()
	if err != nil {
		return err
	}
	for _, p := range item.Parts {
		r, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		if finished != nil && finished.Use == r.UseID {
			finished.Content = r.Content
		}
		delete(s.running, r.UseID)
		delete(s.inputs, r.UseID)
	}
	return nil
}
