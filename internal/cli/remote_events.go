package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// remoteEvents makes an agent's events of what a daemon tells of its session, so that
// a run there looks as one here does.
//
//	records ─► event ──────────────────────────┐
//	           event that its delta completes ─┼─► queue ─► view, in the agent's order
//	deltas ──► event, or the rest of one ──────┘
//
// Records are told for sure, deltas may be lost. So a text that is still coming is
// passed on only when it was seen from its beginning, and what waits for its delta
// waits a moment only.
type remoteEvents struct {
	id     string
	forked string        // of what the session is a fork
	meta   *session.Meta // as the session was before; nil: it is new

	queue  []heldEvent
	opened bool
	state  event.State     // of the records so far
	live   bool            // deltas come
	whole  bool            // the text that is coming was seen from its beginning
	text   strings.Builder // of it, what was passed on
	tally  tally
	result *event.Result
	subs   map[string]*subagent // by session
}

// heldEvent is an event that may still lack what only its delta says.
type heldEvent struct {
	event event.Event
	waits bool
}

func newRemoteEvents(id, forked string, meta *session.Meta) *remoteEvents {
	return &remoteEvents{id: id, forked: forked, meta: meta, live: true}
}

// take adds what the daemon tells, and returns what is to be shown now.
func (f *remoteEvents) take(e *client.Event) ([]event.Event, error) {
	switch e.Kind {
	case client.EventRecord:
		return f.record(e.Record)
	case client.EventDelta:
		f.live = true
		return f.delta(e.Delta), nil
	case client.EventCaughtUp:
		f.live = true
	case client.EventGap, client.EventLost:
		f.whole, f.live = false, e.Kind == client.EventGap && f.live
		return f.flush(), nil
	case client.EventDeleted:
	}
	return nil, nil
}

// waiting reports whether something is held back for its delta.
func (f *remoteEvents) waiting() bool { return len(f.queue) > 0 }

// flush gives up on deltas that did not come.
func (f *remoteEvents) flush() []event.Event {
	for i := range f.queue {
		f.queue[i].waits = false
	}
	return f.drain()
}

func (f *remoteEvents) drain() []event.Event {
	var out []event.Event
	for len(f.queue) > 0 && !f.queue[0].waits {
		out = append(out, f.queue[0].event)
		f.queue = f.queue[1:]
	}
	return out
}

func (f *remoteEvents) push(e event.Event) {
	f.queue = append(f.queue, heldEvent{event: e})
}

// hold is push for an event that its delta completes.
func (f *remoteEvents) hold(e event.Event) {
	f.queue = append(f.queue, heldEvent{event: e, waits: f.live})
}

// delta takes an event that is on no record, or the rest of one that is.
func (f *remoteEvents) delta(e event.Event) []event.Event {
	if i := f.completes(e); i >= 0 {
		for j := range f.queue[:i+1] { // the deltas of those before were lost
			f.queue[j].waits = false
		}
		return f.drain()
	}
	out := f.flush()
	switch e := e.(type) {
	case event.SessionOpened:
		return append(out, f.open(e)...)
	case event.ModelStarted:
		f.whole = true
		f.text.Reset()
		out = append(out, e)
	case event.TextDelta:
		if f.whole {
			f.text.WriteString(e.Text)
			out = append(out, e)
		}
	case event.ThinkingDelta, event.ToolInputDelta:
		if f.whole {
			out = append(out, e)
		}
	case event.Retrying:
		f.text.Reset()
		out = append(out, e)
	case event.Result:
		f.result = &e
	default:
		out = append(out, e)
	}
	return out
}

// completes fills in the opening that waits for what only its delta says; -1 when there is
// none.
func (f *remoteEvents) completes(e event.Event) int {
	opened, ok := e.(event.SessionOpened)
	if !ok {
		return -1
	}
	for i := range f.queue {
		h := &f.queue[i]
		if held, ok := h.event.(event.SessionOpened); ok && h.waits {
			opened.Forked, opened.Created, opened.Notices = held.Forked, held.Created, append(held.Notices, opened.Notices...)
			h.event = opened
			return i
		}
	}
	return -1
}

// open is the first event. What only the delta says may come after it.
func (f *remoteEvents) open(e event.SessionOpened) []event.Event {
	if !f.opened {
		f.opened = true
		if f.forked != "" {
			e.Forked, e.Created = f.forked, false
		}
		return []event.Event{e}
	}
	var out []event.Event
	for _, n := range e.Notices {
		out = append(out, event.Notice{Text: n})
	}
	return out
}

// opening is open for when the delta did not come.
func (f *remoteEvents) opening() {
	if f.opened {
		return
	}
	e := event.SessionOpened{ID: f.id, Created: f.meta == nil}
	if f.meta != nil {
		e.Items = f.meta.MessageCount
	}
	for _, e := range f.open(e) {
		f.hold(e) // the tools are in its delta
	}
}

// found tells what was found when the session was opened: with that it was, if that waits
// for its delta.
func (f *remoteEvents) found(notices []string) []event.Event {
	f.opening()
	for i := range f.queue {
		if held, ok := f.queue[i].event.(event.SessionOpened); ok {
			held.Notices = append(held.Notices, notices...)
			f.queue[i].event = held
			return f.drain()
		}
	}
	for _, n := range notices {
		f.push(event.Notice{Text: n})
	}
	return f.drain()
}

// record makes events of a record.
func (f *remoteEvents) record(r *api.Record) ([]event.Event, error) {
	if r.Payload == nil { // erased
		return nil, nil
	}
	if r.Session != "" && r.Kind == session.KindOpened {
		return nil, into(r, func(o session.Opened) { f.begun(r, &o) })
	}
	if sub := f.subs[r.Session]; sub != nil {
		return f.ofSubagent(sub, r)
	}
	if r.Session != "" && !shownOfAgents(r.Kind) {
		return nil, nil
	}
	if err := f.tally.record(r); err != nil {
		return nil, err
	}
	if r.Kind != session.KindRunEvent && r.Kind != session.KindMetaChanged {
		f.opening()
	}
	if err := f.read(r); err != nil {
		return nil, err
	}
	return f.drain(), nil
}

// shownOfAgents reports whether a kind of record is shown when it is of an agent that
// has a session of its own: what it says, does and asks, not how its turns go.
func shownOfAgents(k session.Kind) bool {
	switch k {
	case session.KindItem, session.KindDecision, session.KindToolStarted, session.KindToolFinished,
		session.KindApprovalAsked, session.KindApprovalResolved:
		return true
	}
	return false
}

// read adds the events of a record.
func (f *remoteEvents) read(r *api.Record) error {
	list, err := event.FromRecord(logged(r), &f.state)
	if err != nil {
		return err
	}
	for _, e := range list {
		f.tally.event(e)
		if it, ok := e.(event.ItemAppended); ok && it.Item.Role() == transcript.RoleAssistant {
			f.answered(it.Item.Text())
		}
		f.push(f.wrap(askedBy(e), e))
	}
	return nil
}

// logged is a record as the log has it.
func logged(r *api.Record) session.Record {
	return session.Record{Seq: r.Seq, ID: r.ID, Time: r.Time, Kind: r.Kind, Payload: r.Payload}
}

// into reads a payload.
func into[T any](r *api.Record, do func(T)) error {
	var v T
	if err := json.Unmarshal(r.Payload, &v); err != nil {
		return fmt.Errorf("record %d cannot be read: %w", r.Seq, err)
	}
	do(v)
	return nil
}

// answered ends the text that was coming.
func (f *remoteEvents) answered(text string) {
	if begun := f.text.String(); begun != "" && !f.whole {
		if rest, ok := strings.CutPrefix(text, begun); ok && rest != "" {
			f.push(event.TextDelta{Text: rest})
		}
	}
	f.text.Reset()
	f.whole = false
}

// ended is the run's result: as the agent told it, or as the records have it.
func (f *remoteEvents) ended(e *wire.RunEvent) event.Result {
	if f.result != nil {
		return *f.result
	}
	return f.tally.result(f.id, e)
}
