package cli

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
)

// subagent is an agent that a call of the run's agent, or of another sub-agent, has started.
type subagent struct {
	caller string // the session of the agent whose call it was
	use    string
	name   string
	state  event.State
}

// begun takes note of a session that a call has started.
func (f *remoteEvents) begun(r *api.Record, o *session.Opened) {
	if o.Use == "" {
		return
	}
	if f.subs == nil {
		f.subs = map[string]*subagent{}
	}
	f.subs[r.Session] = &subagent{caller: o.Caller, use: o.Use, name: r.Agent}
}

// ofSubagent makes events of a sub-agent's record.
func (f *remoteEvents) ofSubagent(s *subagent, r *api.Record) ([]event.Event, error) {
	own := logged(r)
	own.Seq = r.Origin
	list, err := event.FromRecord(own, &s.state)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		f.push(f.wrap(r.Session, e))
	}
	return f.drain(), nil
}

// askedBy is the session of the sub-agent whose question, in the run's log, an event is about;
// "" for any other event.
func askedBy(e event.Event) string {
	switch e := e.(type) {
	case event.ApprovalAsked:
		return e.Question.Asker
	case event.ApprovalResolved:
		return e.Answer.Asker
	}
	return ""
}

// wrap is an event of a sub-agent as the run's agent tells it: an event of the sub-agent that
// a call of it has started, in which there may be one of another.
func (f *remoteEvents) wrap(id string, e event.Event) event.Event {
	for range f.subs { // as many at most, whatever their records say
		s := f.subs[id]
		if s == nil {
			break
		}
		e = event.SubagentEvent{Use: s.use, Session: id, Name: s.name, Event: e}
		id = s.caller
	}
	return e
}
