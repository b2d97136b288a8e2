package logpipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// wireEvent is an agent's event on its way. Errors and items are beside it: they are no
// plain JSON.
type wireEvent struct {
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event,omitempty"`
	Error *wireError      `json:"error,omitempty"`
	Item  json.RawMessage `json:"item,omitempty"` // what a tool has returned, as an item
	Of    *wireEvent      `json:"of,omitempty"`   // what happened to a sub-agent
}

// maxDepth bounds sub-agents of sub-agents.
const maxDepth = 4

// The types of events that are plain JSON, each with its reader.
var plain = map[string]func(json.RawMessage) (agent.Event, error){
	"session_opened":    readAs[agent.SessionOpened],
	"turn_started":      readAs[agent.TurnStarted],
	"text_delta":        readAs[agent.TextDelta],
	"thinking_delta":    readAs[agent.ThinkingDelta],
	"tool_input_delta":  readAs[agent.ToolInputDelta],
	"decided":           readAs[agent.Decided],
	"approval_asked":    readAs[agent.ApprovalAsked],
	"approval_resolved": readAs[agent.ApprovalResolved],
	"policy_changed":    readAs[agent.PolicyChanged],
	"tool_started":      readAs[agent.ToolStarted],
	"tool_detached":     readAs[agent.ToolDetached],
	"tools_changed":     readAs[agent.ToolsChanged],
	"compacting":        readAs[agent.Compacting],
	"mutation_finished": readAs[agent.MutationFinished],
	"usage_updated":     readAs[agent.UsageUpdated],
	"hook_ran":          readHookRan,
	"notified":          readAs[agent.Notified],
	"model_started":     readAs[agent.ModelStarted],
	"notice":            readAs[agent.Notice],
}

func readAs[E agent.Event](b json.RawMessage) (agent.Event, error) {
	var e E
	err := json.Unmarshal(b, &e)
	return e, err
}

// readHookRan leaves out what hooks may not have a terminal do.
func readHookRan(b json.RawMessage) (agent.Event, error) {
	var e agent.HookRan
	err := json.Unmarshal(b, &e)
	e.Terminal = slices.DeleteFunc(e.Terminal, func(seq string) bool { return !hook.SafeForTerminal(seq) })
	return e, err
}

// typeOf names a plain event.
func typeOf(e agent.Event) string {
	switch e.(type) {
	case agent.SessionOpened:
		return "session_opened"
	case agent.TurnStarted:
		return "turn_started"
	case agent.TextDelta:
		return "text_delta"
	case agent.ThinkingDelta:
		return "thinking_delta"
	case agent.ToolInputDelta:
		return "tool_input_delta"
	case agent.Decided:
		return "decided"
	case agent.ApprovalAsked:
		return "approval_asked"
	case agent.ApprovalResolved:
		return "approval_resolved"
	case agent.PolicyChanged:
		return "policy_changed"
	case agent.ToolStarted:
		return "tool_started"
	case agent.ToolDetached:
		return "tool_detached"
	case agent.ToolsChanged:
		return "tools_changed"
	case agent.Compacting:
		return "compacting"
	case agent.MutationFinished:
		return "mutation_finished"
	case agent.UsageUpdated:
		return "usage_updated"
	case agent.HookRan:
		return "hook_ran"
	case agent.Notified:
		return "notified"
	case agent.ModelStarted:
		return "model_started"
	case agent.Notice:
		return "notice"
	}
	return ""
}

// packEvent packs an event of an agent.
func packEvent(e agent.Event) (*wireEvent, error) {
	w := &wireEvent{Type: typeOf(e)}
	var body any = e
	switch e := e.(type) {
	case agent.ItemAppended: // the host has the record
		w.Type, body = "item_appended", struct{ Seq int64 }{e.Seq}
	case agent.ToolFinished:
		w.Type = "tool_finished"
		var err error
		if body, w.Item, err = packResult(e); err != nil {
			return nil, err
		}
	case agent.SubagentEvent:
		of, err := packEvent(e.Event)
		if err != nil {
			return nil, err
		}
		e.Event = nil
		w.Type, w.Of, body = "subagent", of, e
	case agent.Retrying:
		w.Type, w.Error, e.Err = "retrying", toWire(e.Err), nil
		body = e
	case agent.ModelSwitched:
		w.Type, w.Error, e.Err = "model_switched", toWire(e.Err), nil
		body = e
	case agent.ModelFinished:
		w.Type, w.Error, e.Err = "model_finished", toWire(e.Err), nil
		body = e
	case agent.TurnFinished:
		w.Type, w.Error, e.Err = "turn_finished", toWire(e.Err), nil
		body = e
	case agent.Result:
		w.Type, w.Error, e.Err = "result", toWire(e.Err), nil
		body = e
	}
	if w.Type == "" {
		return nil, fmt.Errorf("%w: an event of type %T", session.ErrUnsupported, e)
	}
	var err error
	w.Event, err = encode(body)
	return w, err
}

// finished is a ToolFinished without what the tool has returned.
type finished struct {
	Use, Tool string
	Took      time.Duration
	IsError   bool
	ExitCode  *int
	Notes     []string
	Changes   []session.Change
}

func packResult(e agent.ToolFinished) (finished, json.RawMessage, error) {
	r := e.Result
	f := finished{e.Use, e.Tool, e.Took, r.IsError, r.ExitCode, r.Notes, r.Changes}
	it := transcript.Item{ID: "result", Role: transcript.RoleUser, Parts: r.Content}
	b, err := it.MarshalJSON()
	return f, b, err
}

// event is the event that was packed, but for an ItemAppended, which has its Seq only.
func (w *wireEvent) event() (agent.Event, error) {
	if read := plain[w.Type]; read != nil {
		return read(w.Event)
	}
	err := w.Error.err()
	switch w.Type {
	case "subagent":
		return w.subagent()
	case "item_appended":
		return readAs[agent.ItemAppended](w.Event)
	case "tool_finished":
		return w.toolFinished()
	case "retrying":
		var e agent.Retrying
		bad := json.Unmarshal(w.Event, &e)
		e.Err = err
		return e, bad
	case "model_switched":
		var e agent.ModelSwitched
		bad := json.Unmarshal(w.Event, &e)
		e.Err = err
		return e, bad
	case "model_finished":
		var e agent.ModelFinished
		bad := json.Unmarshal(w.Event, &e)
		e.Err = err
		return e, bad
	case "turn_finished":
		var e agent.TurnFinished
		bad := json.Unmarshal(w.Event, &e)
		e.Err = err
		return e, bad
	case "result":
		var e agent.Result
		bad := json.Unmarshal(w.Event, &e)
		e.Err = err
		return e, bad
	}
	return nil, fmt.Errorf("%w: there is no event %q", errFrame, w.Type)
}

// subagent is what happened to a sub-agent. How deep it lies was bounded before.
func (w *wireEvent) subagent() (agent.Event, error) {
	var e agent.SubagentEvent
	if err := json.Unmarshal(w.Event, &e); err != nil {
		return nil, err
	}
	if w.Of == nil {
		return nil, fmt.Errorf("%w: a sub-agent's event without one", errFrame)
	}
	var err error
	e.Event, err = w.Of.event()
	return e, err
}

// depth is how many events lie in one another.
func (w *wireEvent) depth() (n int) {
	for at := w; at != nil; at = at.Of {
		n++
	}
	return n
}

// size is how many bytes the event had on its way.
func (w *wireEvent) size() (n int) {
	for at := w; at != nil; at = at.Of {
		n += len(at.Event) + len(at.Item)
	}
	return n
}

func (w *wireEvent) toolFinished() (agent.Event, error) {
	var f finished
	if err := json.Unmarshal(w.Event, &f); err != nil {
		return nil, err
	}
	var it transcript.Item
	if err := it.UnmarshalJSON(w.Item); err != nil {
		return nil, err
	}
	return agent.ToolFinished{Use: f.Use, Tool: f.Tool, Took: f.Took, Result: tool.Result{
		Content: it.Parts, IsError: f.IsError, ExitCode: f.ExitCode, Notes: f.Notes, Changes: f.Changes,
	}}, nil
}

// Tell passes an event on to the host, in the order of the calls.
func (c *Client) Tell(e agent.Event) error {
	w, err := packEvent(e)
	if err != nil {
		return err
	}
	return c.f.write(&request{Op: opEvent, Event: w}, nil)
}

// Fail tells the host what has stopped the agent.
func (c *Client) Fail(err error) error {
	return c.f.write(&request{Op: opFailed, Error: toWire(err)}, nil)
}

// EncodeParts makes JSON of input.
func EncodeParts(parts []transcript.Part) (json.RawMessage, error) {
	it := transcript.Item{ID: "input", Role: transcript.RoleUser, Parts: parts}
	return it.MarshalJSON()
}

// DecodeParts reads what [EncodeParts] wrote.
func DecodeParts(b []byte) ([]transcript.Part, error) {
	var it transcript.Item
	if err := it.UnmarshalJSON(b); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if len(it.Parts) == 0 {
		return nil, errors.New("input: there is none")
	}
	return it.Parts, nil
}
