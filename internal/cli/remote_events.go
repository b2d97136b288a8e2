package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
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
	turned bool                       // a turn has begun
	live   bool                       // deltas come
	inputs map[string]json.RawMessage // of tool uses
	works  map[string]string          // tools by use, of calls that have begun and neither ended nor got a result
	whole  bool                       // the text that is coming was seen from its beginning
	text   strings.Builder            // of it, what was passed on
	tally  tally
	result *agent.Result
	subs   map[string]*subagent // by session
}

// heldEvent is an event that may still lack what only its delta says.
type heldEvent struct {
	event agent.Event
	waits bool
}

// tally is what of a result follows from records.
type tally struct {
	turns   int
	usage   transcript.Usage
	byModel map[string]agent.ModelUsage
	denials []policy.Decision
	finish  transcript.Finish
	text    []string
	closed  session.TurnClosed
	began   time.Time
	ended   time.Time
}

func newRemoteEvents(id, forked string, meta *session.Meta) *remoteEvents {
	return &remoteEvents{id: id, forked: forked, meta: meta, inputs: map[string]json.RawMessage{}, live: true}
}

// take adds what the daemon tells, and returns what is to be shown now.
func (f *remoteEvents) take(e *client.Event) ([]agent.Event, error) {
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
func (f *remoteEvents) flush() []agent.Event {
	for i := range f.queue {
		f.queue[i].waits = false
	}
	return f.drain()
}

func (f *remoteEvents) drain() []agent.Event {
	var out []agent.Event
	for len(f.queue) > 0 && !f.queue[0].waits {
		out = append(out, f.queue[0].event)
		f.queue = f.queue[1:]
	}
	return out
}

func (f *remoteEvents) push(e agent.Event) {
	f.queue = append(f.queue, heldEvent{event: e})
}

// hold is push for an event that its delta completes.
func (f *remoteEvents) hold(e agent.Event) {
	f.queue = append(f.queue, heldEvent{event: e, waits: f.live})
}

// delta takes an event that is on no record, or the rest of one that is.
func (f *remoteEvents) delta(e agent.Event) []agent.Event {
	if i := f.completes(e); i >= 0 {
		for j := range f.queue[:i+1] { // the deltas of those before were lost
			f.queue[j].waits = false
		}
		return f.drain()
	}
	out := f.flush()
	switch e := e.(type) {
	case agent.SessionOpened:
		return append(out, f.open(e)...)
	case agent.ModelStarted:
		f.whole = true
		f.text.Reset()
	case agent.TextDelta:
		if f.whole {
			f.text.WriteString(e.Text)
			out = append(out, e)
		}
	case agent.ThinkingDelta, agent.ToolInputDelta:
		if f.whole {
			out = append(out, e)
		}
	case agent.Retrying:
		f.text.Reset()
		out = append(out, e)
	case agent.Result:
		f.result = &e
	case agent.HookRan, agent.ToolFinished: // it came too late
	default:
		out = append(out, e)
	}
	return out
}

// completes fills in the held event that a delta is about; -1 when there is none.
func (f *remoteEvents) completes(e agent.Event) int {
	for i := range f.queue {
		h := &f.queue[i]
		if !h.waits {
			continue
		}
		switch e := e.(type) {
		case agent.SessionOpened:
			if held, ok := h.event.(agent.SessionOpened); ok {
				e.Forked, e.Created, e.Notices = held.Forked, held.Created, append(held.Notices, e.Notices...)
				h.event = e
				return i
			}
		case agent.ToolFinished:
			if held, ok := h.event.(agent.ToolFinished); ok && held.Use == e.Use {
				e.Result.Content, e.Result.Changes = held.Result.Content, held.Result.Changes
				h.event = e
				return i
			}
		case agent.HookRan:
			if held, ok := h.event.(agent.HookRan); ok && held.Ran.Event == e.Ran.Event && held.Ran.Use == e.Ran.Use {
				h.event = e
				return i
			}
		}
	}
	return -1
}

// open is the first event. What only the delta says may come after it.
func (f *remoteEvents) open(e agent.SessionOpened) []agent.Event {
	if !f.opened {
		f.opened = true
		if f.forked != "" {
			e.Forked, e.Created = f.forked, false
		}
		return []agent.Event{e}
	}
	var out []agent.Event
	for _, n := range e.Notices {
		out = append(out, agent.Notice{Text: n})
	}
	return out
}

// opening is open for when the delta did not come.
func (f *remoteEvents) opening() {
	if f.opened {
		return
	}
	e := agent.SessionOpened{ID: f.id, Created: f.meta == nil}
	if f.meta != nil {
		e.Items = f.meta.MessageCount
	}
	for _, e := range f.open(e) {
		f.hold(e) // the tools are in its delta
	}
}

// found tells what was found when the session was opened: with that it was, if that waits
// for its delta.
func (f *remoteEvents) found(notices []string) []agent.Event {
	f.opening()
	for i := range f.queue {
		if held, ok := f.queue[i].event.(agent.SessionOpened); ok {
			held.Notices = append(held.Notices, notices...)
			f.queue[i].event = held
			return f.drain()
		}
	}
	for _, n := range notices {
		f.push(agent.Notice{Text: n})
	}
	return f.drain()
}

// record makes events of a record.
func (f *remoteEvents) record(r *api.Record) ([]agent.Event, error) {
	if r.Payload == nil { // erased
		return nil, nil
	}
	if r.Session != "" && r.Kind == session.KindOpened {
		return nil, into(r, func(o session.Opened) { f.begun(r.Session, o.Use) })
	}
	if r.Session != "" && !shownOfAgents(r.Kind) {
		return nil, nil
	}
	if sub := f.subs[r.Session]; sub != nil {
		return f.ofSubagent(sub, r)
	}
	if f.tally.began.IsZero() {
		f.tally.began = r.Time
	}
	f.tally.ended = r.Time
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

func (f *remoteEvents) read(r *api.Record) error {
	switch r.Kind {
	case session.KindItem:
		return f.item(r)
	case session.KindTurnOpened:
		f.turned = true
		return into(r, func(t session.TurnOpened) { f.push(agent.TurnStarted{Turn: t.Turn}) })
	case session.KindTurnClosed:
		return into(r, func(t session.TurnClosed) { f.tally.closed = t })
	case session.KindDecision:
		return into(r, f.decided)
	case session.KindToolStarted:
		return into(r, func(t session.ToolStarted) {
			if f.works == nil {
				f.works = map[string]string{}
			}
			f.works[t.Use] = t.Tool
			f.push(agent.ToolStarted{Use: t.Use, Tool: t.Tool, Input: f.inputs[t.Use]})
		})
	case session.KindToolFinished:
		return into(r, func(t session.ToolFinished) {
			delete(f.works, t.Use)
			f.hold(agent.ToolFinished{
				Use: t.Use, Tool: t.Tool, Took: time.Duration(t.Millis) * time.Millisecond,
				Result: tool.Result{IsError: t.IsError, ExitCode: t.ExitCode, Changes: t.Changes},
			})
		})
	case session.KindHookRan:
		return into(r, func(ran hook.Ran) { f.hold(agent.HookRan{Ran: ran}) })
	case session.KindApprovalAsked:
		return into(r, func(q approval.Question) { f.push(agent.ApprovalAsked{Question: q}) })
	case session.KindApprovalResolved:
		return into(r, func(a approval.Answer) { f.push(agent.ApprovalResolved{ID: a.Question, Answer: a}) })
	case session.KindPolicyChanged:
		c, err := policy.ParseChange(r.Payload)
		if err == nil && (f.turned || c.Mode == "") { // before its first turn it is the mode of the start
			f.push(agent.PolicyChanged{Change: c})
		}
		return err
	}
	return nil
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

func (f *remoteEvents) decided(d policy.Decision) {
	if d.Input != nil {
		f.inputs[d.Use] = d.Input
	}
	if d.Effect == policy.Deny {
		f.tally.denials = append(f.tally.denials, d)
	}
	f.push(agent.Decided{Decision: d})
}

func (f *remoteEvents) item(r *api.Record) error {
	stored, err := session.ReadItem(r.Payload)
	if err != nil || stored.Queued {
		return err
	}
	it := stored.Item
	for _, u := range it.Uses() {
		f.inputs[u.ID] = u.Input
	}
	switch it.Role() {
	case transcript.RoleAssistant:
		f.answered(it)
	case transcript.RoleTool:
		if err := f.results(it); err != nil {
			return err
		}
	}
	f.push(agent.ItemAppended{Seq: r.Seq, Item: it})
	return nil
}

// answered ends the text that was coming, and counts.
func (f *remoteEvents) answered(it transcript.Encoded) {
	text := it.Text()
	if begun := f.text.String(); begun != "" && !f.whole {
		if rest, ok := strings.CutPrefix(text, begun); ok && rest != "" {
			f.push(agent.TextDelta{Text: rest})
		}
	}
	f.text.Reset()
	f.whole = false
	t := &f.tally
	t.turns++
	t.finish = it.Finish()
	if text != "" {
		t.text = append(t.text, text)
	}
	if item, err := it.Decode(); err == nil && item.Usage != nil {
		t.usage = t.usage.Add(*item.Usage)
		if t.byModel == nil {
			t.byModel = map[string]agent.ModelUsage{}
		}
		m := t.byModel[item.Model]
		m.Usage, m.Calls = m.Usage.Add(*item.Usage), m.Calls+1
		t.byModel[item.Model] = m
	}
}

// results gives calls that have ended what the model is told of them. One that has a
// result before it has ended goes on in the background.
func (f *remoteEvents) results(it transcript.Encoded) error {
	item, err := it.Decode()
	if err != nil {
		return err
	}
	for _, p := range item.Parts {
		r, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		if name, ok := f.works[r.UseID]; ok {
			delete(f.works, r.UseID)
			f.push(agent.ToolDetached{Use: r.UseID, Tool: name})
		}
		for i := range f.queue {
			if h, ok := f.queue[i].event.(agent.ToolFinished); ok && h.Use == r.UseID {
				h.Result.Content = r.Content
				f.queue[i].event = h
			}
		}
	}
	return nil
}

// ended is the run's result: as the agent told it, or as the records have it.
func (f *remoteEvents) ended(e *wire.RunEvent) agent.Result {
	if f.result != nil {
		return *f.result
	}
	t := &f.tally
	r := agent.Result{
		SessionID: f.id, Turn: t.closed.Turn, Reason: agent.Reason(t.closed.Reason), Text: strings.Join(t.text, "\n"),
		Turns: t.turns, Usage: t.usage, CostUSD: t.closed.Cost, ByModel: t.byModel, Denials: t.denials,
		Took: t.ended.Sub(t.began), Finish: t.finish,
	}
	switch e.Event {
	case wire.RunCancelled:
		r.Reason = agent.ReasonInterrupted
	case wire.RunFailed:
		if r.Reason == "" || r.Reason == agent.ReasonCompleted {
			r.Reason = agent.ReasonFailed
		}
		r.Err = &failure{msg: orElse(t.closed.Error, e.Message), out: outcome.Failed}
	case wire.RunCompleted:
		r.Reason = agent.ReasonCompleted
	}
	return r
}
