package cli

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
)

// subagent is somebody whom a call of the run's agent has begun.
type subagent struct {
	use    string
	events *remoteEvents
}

// begun takes note of a session that a call has begun.
func (f *remoteEvents) begun(id, use string) {
	if use == "" {
		return
	}
	if f.subs == nil {
		f.subs = map[string]*subagent{}
	}
	f.subs[id] = &subagent{use: use, events: &remoteEvents{id: id, opened: true}}
}

// ofSubagent makes events of a sub-agent's record: what it says and does is its own, what
// it asks is asked here as everything is.
func (f *remoteEvents) ofSubagent(s *subagent, r *api.Record) ([]event.Event, error) {
	if err := s.events.read(r); err != nil {
		return nil, err
	}
	for _, e := range s.events.drain() {
		switch e.(type) {
		case event.ApprovalAsked, event.ApprovalResolved, event.Decided:
		default:
			e = event.SubagentEvent{Use: s.use, Session: r.Session, Name: r.Agent, Event: e}
		}
		f.push(e)
	}
	return f.drain(), nil
}
