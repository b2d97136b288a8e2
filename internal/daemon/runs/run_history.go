package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runHistory is the part of a run's recorded state that is needed to continue the run.
type runHistory struct {
	head     int64 // the seq of the last record that was read
	segment  int
	started  *wire.RunEvent     // the newest start record, with its strategy
	mode     policy.Mode        // the newest mode, or ""
	forked   bool               // the start is in the session from which this one was forked
	images   []transcript.Media // of the input of the newest segment
	begun    time.Time
	status   api.RunStatus
	steps    map[string]*stepRecord // key: a path; value: the step of the newest segment with that path
	inputs   map[string]*inputRecord
	relayed  map[string]int64  // key: a session; value: the last record that the log refers to
	names    map[string]string // key: a session; value: the name of its agent
	steering []steering        // texts that no agent has yet
	changes  []policy.Change   // the policy changes for agents that have not worked yet
}

// stepRecord is a step that was started.
type stepRecord struct {
	began *wire.RunEvent
	seq   int64
	ended *wire.RunEvent // nil: the step was interrupted
}

// inputRecord is a request for input from the user.
type inputRecord struct {
	asked *wire.RunEvent
	at    time.Time
	given *wire.RunEvent
}

// readHistory reads the log of a run, and returns the state of the run at its end.
func (r *Runs) readHistory(ctx context.Context, id string) (*runHistory, error) {
	p := &runHistory{relayed: map[string]int64{}, names: map[string]string{}}
	p.reset()
	for rec, err := range r.o.Sessions.Effective(ctx, id, session.Range{}) {
		if err != nil {
			return nil, err
		}
		if rec.Kind == record.KindOpened && rec.Seq > 1 { // a fork does not inherit its parent's run
			*p = runHistory{started: p.started, forked: p.started != nil, relayed: map[string]int64{}, names: map[string]string{}}
			p.reset()
		}
		p.head = rec.Seq
		if rec.Kind == record.KindPolicyChanged && rec.Payload != nil {
			var c policy.Change
			if err := c.Parse(rec.Payload); err != nil {
				return nil, fmt.Errorf("record %d of run %s: %w", rec.Seq, id, err)
			}
			p.mode = cmp.Or(c.Mode, p.mode)
		}
		if rec.Kind == session.KindItem && rec.Payload != nil && len(p.steering) > 0 {
			if err := p.readItem(rec.Payload); err != nil {
				return nil, fmt.Errorf("record %d of run %s: %w", rec.Seq, id, err)
			}
		}
		if rec.Kind != record.KindRunEvent || rec.Payload == nil {
			continue
		}
		e := new(wire.RunEvent)
		if err := json.Unmarshal(rec.Payload, e); err != nil {
			return nil, fmt.Errorf("record %d of run %s: %w", rec.Seq, id, err)
		}
		p.apply(e, rec)
	}
	return p, nil
}

func (p *runHistory) reset() {
	p.steps, p.inputs = map[string]*stepRecord{}, map[string]*inputRecord{}
	p.dropSteering("")
}

func (p *runHistory) apply(e *wire.RunEvent, rec session.Record) {
	if e.Status != "" {
		p.status = e.Status
	}
	switch e.Event {
	case wire.RunStarted:
		p.forked = false
		if e.Strategy != nil {
			p.mode = cmp.Or(policy.Mode(e.Strategy.Mode), p.mode)
		}
		if !e.Resumed {
			p.reset()
			p.begun, p.images = rec.Time, e.Images
		}
		p.segment, p.started, p.changes = e.Segment, e, e.Changes
		if len(e.Steering) > 0 { // the input of the resume
			p.steering = append(p.steering, steering{id: e.Steering[0], text: e.Text, images: e.Images})
		}
	case wire.RunPolicy:
		p.changes = append(p.changes, e.Changes...)
	case wire.RunStepStarted:
		p.steps[e.Step] = &stepRecord{began: e, seq: rec.Seq}
		p.dropSteering("")
	case wire.RunStepCompleted, wire.RunStepFailed:
		if s := p.steps[e.Step]; s != nil && e.Event == wire.RunStepCompleted {
			s.ended = e
		}
	case wire.RunInputAsked:
		p.inputs[e.InputID] = &inputRecord{asked: e, at: rec.Time}
	case wire.RunInputGiven:
		if in := p.inputs[e.InputID]; in != nil && in.given == nil {
			in.given = e
		}
	case wire.RunRelayed:
		p.relayed[e.Session] = max(p.relayed[e.Session], e.To)
		p.names[e.Session] = e.Agent
	case wire.RunSteered:
		p.steering = append(p.steering, steering{id: strings.Join(e.Steering, ""), text: e.Text, images: e.Images})
	case wire.RunSteeringDelivered, wire.RunSteeringWithdrawn:
		p.dropSteering(e.Steering...)
	}
}

// dropSteering removes the texts with these ids. The id "" stands for texts of earlier versions,
// which recorded neither ids nor what happened to a text.
func (p *runHistory) dropSteering(ids ...string) {
	p.steering = slices.DeleteFunc(p.steering, func(s steering) bool { return slices.Contains(ids, s.id) })
}

// readItem removes the texts that an item contains. The daemon may have been killed before it
// recorded that they were delivered.
func (p *runHistory) readItem(payload json.RawMessage) error {
	it, err := record.ReadItem(payload)
	if err != nil || it.Item.Role() != transcript.RoleUser {
		return err
	}
	text := it.Item.Text()
	for n := len(p.steering); n > 0; n-- {
		if block := steeringText(p.steering[:n]); strings.HasSuffix(text, block) || strings.HasPrefix(text, block+"\n\n") {
			p.steering = p.steering[n:]
			break
		}
	}
	return nil
}

// input finds the request for input of a step.
func (p *runHistory) input(step string) *inputRecord {
	if p == nil {
		return nil
	}
	for _, in := range p.inputs {
		if in.asked.Step == step {
			return in
		}
	}
	return nil
}

// step finds a step of the segment that is being continued.
func (p *runHistory) step(path string) *stepRecord {
	if p == nil {
		return nil
	}
	return p.steps[path]
}
