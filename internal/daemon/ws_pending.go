package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// pendingRequest is a pending approval or input of a run, and where it is recorded.
type pendingRequest struct {
	id       string
	approval *approval.Request // nil for an input
	input    api.WaitingInput
	at       int64 // the seq of the record in the log that contains it
	seq      int64 // seq in the run's log; 0 while unknown
	agent    string
}

// pendingMessages returns the messages about the pending approvals and input requests of a run that were
// requested at or before a seq. A subscription after that seq would not send them.
func (s *sockets) pendingMessages(ctx context.Context, run string, until int64) ([]wire.Message, error) {
	if until <= 0 {
		return nil, nil
	}
	found, err := s.pending(ctx, run)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if err := s.locate(ctx, run, found); err != nil {
		return nil, err
	}
	name := s.o.Runs.AgentName(ctx, run)
	var list []wire.Message
	for _, w := range found {
		if w.seq == 0 || w.seq > until {
			continue
		}
		var m wire.RunMessage = wire.InputRequest(run, w.input)
		if w.approval != nil {
			m = wire.Permission(run, cmp.Or(w.agent, name), w.approval)
		}
		m.Position().Seq, m.Position().Pending = w.seq, true
		list = append(list, m)
	}
	return list, nil
}

// pending returns the pending approvals and inputs of a run, oldest first.
func (s *sockets) pending(ctx context.Context, run string) ([]*pendingRequest, error) {
	info, err := s.o.Runs.Get(ctx, run)
	if err != nil || info.Approvals+len(info.Inputs) == 0 {
		return nil, err
	}
	var found []*pendingRequest
	for _, in := range info.Inputs {
		found = append(found, &pendingRequest{id: in.InputRequestID, input: in})
	}
	ids := []string{run}
	agents, err := s.o.Sessions.List(ctx, session.Query{Owner: run, WithApprovals: true, Worktrees: true})
	if err != nil {
		return nil, err
	}
	for _, m := range agents.Sessions {
		ids = append(ids, m.ID)
	}
	for _, id := range ids {
		questions, err := approval.Pending(ctx, s.o.Sessions, id)
		if err != nil {
			return nil, err
		}
		for i := range questions {
			found = append(found, &pendingRequest{id: questions[i].ID, approval: &questions[i]})
		}
	}
	return found, nil
}

// locate finds the seq of each request in the run's log. Requests that are not relayed yet get no
// seq.
func (s *sockets) locate(ctx context.Context, run string, found []*pendingRequest) error {
	for _, w := range found {
		if w.approval == nil || w.approval.Session == run {
			continue
		}
		if err := s.scan(ctx, w.approval.Session, []*pendingRequest{w}, func(r *session.Record) bool {
			w.at = r.Seq
			return r.Kind == record.KindApprovalAsked && requestIDOf(r) == w.id
		}); err != nil {
			return err
		}
	}
	return s.scan(ctx, run, found, func(r *session.Record) bool { return markFound(run, found, r) })
}

// scan reads a log backwards. It stops when done reports that all requests were found, or before
// the oldest request.
func (s *sockets) scan(ctx context.Context, id string, found []*pendingRequest, done func(*session.Record) bool) error {
	oldest := askedAt(found[0])
	for _, w := range found {
		if at := askedAt(w); at.Before(oldest) {
			oldest = at
		}
	}
	oldest = oldest.Add(-time.Minute) // the system clock may have been set back
	for r, err := range s.o.Sessions.Records(ctx, id, session.Range{Reverse: true}) {
		if err != nil {
			return err
		}
		if r.Payload != nil && done(&r) || r.Time.Before(oldest) {
			return nil
		}
	}
	return nil
}

func askedAt(w *pendingRequest) time.Time {
	if w.approval != nil {
		return w.approval.AskedAt
	}
	return w.input.AskedAt
}

// markFound marks those requests in found that a record of the run's log contains. It reports whether
// all requests are found.
func markFound(run string, found []*pendingRequest, r *session.Record) bool {
	switch r.Kind {
	case record.KindApprovalAsked:
		id := requestIDOf(r)
		for _, w := range found {
			if w.approval != nil && w.approval.Session == run && w.id == id {
				w.seq = r.Seq
			}
		}
	case record.KindRunEvent:
		var e wire.RunEvent
		if json.Unmarshal(r.Payload, &e) != nil {
			return false // an event that cannot be decoded is skipped
		}
		for _, w := range found {
			switch {
			case w.approval == nil && e.Event == wire.RunInputAsked && e.InputID == w.id:
				w.seq = r.Seq
			case w.approval != nil && e.Event == wire.RunRelayed && e.Session == w.approval.Session && e.From <= w.at && w.at <= e.To:
				w.seq, w.agent = r.Seq, e.Agent
			}
		}
	default:
		return false
	}
	for _, w := range found {
		if w.seq == 0 {
			return false
		}
	}
	return true
}

func requestIDOf(r *session.Record) string {
	var head struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(r.Payload, &head) // "" is not an id
	return head.ID
}
