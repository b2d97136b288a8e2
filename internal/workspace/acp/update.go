package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/holdfast-dev/holdfast/internal/workspace/jsonrpc"
	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ignoredUpdates has the types of updates that the driver does not need.
var ignoredUpdates = []string{
	"user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update",
	"session_info_update", "usage_update",
}

// notification handles a notification. An update that arrives before the turn has begun is replayed
// history.
func (r *run) notification(m *jsonrpc.Message) error {
	switch m.Method {
	case sdk.ClientMethodSessionUpdate:
	case "$/cancel_request":
		var q struct {
			ID json.RawMessage `json:"requestId"`
		}
		if m.Decode(&q) == nil {
			r.uses.Withdraw(string(q.ID))
		}
		return nil
	default:
		return r.uses.NoticeOnce("unknown event type: " + lineio.Truncate(m.Method, 80))
	}
	var e updateEvent
	if err := m.Decode(&e); err != nil {
		return r.uses.Notice("invalid update")
	}
	if r.prompt == "" || e.Session != r.session {
		return nil
	}
	switch u := &e.Update; u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		return r.chunk(u)
	case "tool_call", "tool_call_update":
		return r.called(&u.callFields, u.Content)
	case "plan":
		return r.planned(u.Entries)
	default:
		if slices.Contains(ignoredUpdates, u.Kind) {
			return nil
		}
		return r.uses.NoticeOnce("unknown update type: " + lineio.Truncate(u.Kind, 80))
	}
}

// chunk handles a piece of text or of thinking. It also means that the agent does not wait for a
// command that is still running.
func (r *run) chunk(u *update) error {
	if u.Message == "" || u.Message != r.message {
		r.uses.Settle()
	}
	if err := r.uses.Advance(func(*toolqueue.Use) string { return "" }); err != nil {
		return err
	}
	thinks := u.Kind == "agent_thought_chunk"
	if u.Message != r.message || thinks && r.text.Len() > 0 {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.message = u.Message
	part := toolqueue.Block(u.Content)
	text, ok := part.(transcript.Text)
	switch {
	case !ok:
		if err := r.flush(); err != nil {
			return err
		}
		return r.uses.Emit(part)
	case text.Text == "":
		return nil
	case thinks:
		r.thought.WriteString(text.Text)
		return r.sink.Delta(vendor.Delta{Thinking: text.Text})
	}
	r.text.WriteString(text.Text)
	return r.sink.Delta(vendor.Delta{Text: text.Text})
}

// flush emits the text so far as an item.
func (r *run) flush() error {
	r.uses.Think(r.thought.String())
	r.thought.Reset()
	if r.text.Len() == 0 {
		return nil
	}
	r.lastText = r.text.String()
	r.text.Reset()
	return r.uses.Emit(transcript.Text{Text: r.lastText})
}

// called handles an update of a tool call.
func (r *run) called(f *callFields, list json.RawMessage) error {
	if f.ID == "" {
		return r.uses.Notice("tool call without an id: " + lineio.Truncate(f.Title, 80))
	}
	if err := r.flush(); err != nil {
		return err
	}
	c, err := r.hold(f, list)
	if err != nil {
		return err
	}
	u := r.uses.Use(c.ID)
	switch sdk.ToolCallStatus(c.Status) {
	case sdk.ToolCallStatusCompleted, sdk.ToolCallStatusFailed:
		if u.Detached() {
			return r.uses.NoticeOnce(fmt.Sprintf("background task ended (%s): %s", c.ID, c.Status))
		}
		parts, isError := c.result()
		return r.uses.Result(c.ID, parts, isError)
	case sdk.ToolCallStatusInProgress:
		// Some agents report that a call is running and only then ask for permission. If a call has
		// content, it is running.
		if len(list) > 0 && u.IsPending() && f.Title == "" {
			return r.uses.Run(c.ID)
		}
	}
	return nil
}

// hold merges an update into a call that has not been announced yet.
func (r *run) hold(f *callFields, list json.RawMessage) (*call, error) {
	c := r.calls[f.ID]
	if c == nil {
		c = &call{}
		r.calls[f.ID] = c
	}
	c.take(f, list)
	name, input := c.toolUse()
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	r.uses.AddUse(&toolqueue.Use{ID: c.ID, Name: name, Input: raw, Sub: c.Meta.Claude.Parent != "", Parent: c.Meta.Claude.Parent})
	return c, nil
}

// planned emits a plan as a call of Claude Code's plan tool.
func (r *run) planned(entries []planEntry) error {
	if err := r.flush(); err != nil {
		return err
	}
	todos := []map[string]string{}
	for _, e := range entries {
		todos = append(todos, map[string]string{"content": e.Content, "status": e.Status, "activeForm": e.Content})
	}
	raw, err := json.Marshal(map[string]any{"todos": todos})
	if err != nil {
		return err
	}
	r.plans++
	id := "plan-" + strconv.Itoa(r.plans)
	r.uses.AddUse(&toolqueue.Use{ID: id, Name: "TodoWrite", Input: raw})
	return r.uses.Result(id, toolqueue.Text("noted"), false)
}

// request answers the agent's requests. The driver does not offer access to files and terminals,
// because the agent uses those in its container.
func (r *run) request(m *jsonrpc.Message) error {
	if m.Method != sdk.ClientMethodSessionRequestPermission {
		r.conn.Refuse(m.ID, jsonrpc.MethodNotFound, "not supported: "+m.Method)
		return r.uses.NoticeOnce("unsupported request: " + lineio.Truncate(m.Method, 80))
	}
	var q permission
	if err := m.Decode(&q); err != nil || q.Call.ID == "" || q.Session != r.session || r.prompt == "" {
		r.conn.Refuse(m.ID, jsonrpc.InvalidParams, "invalid permission request, or unknown tool call")
		return r.uses.Notice("invalid permission request, or unknown tool call")
	}
	if err := r.flush(); err != nil {
		return err
	}
	c, err := r.hold(&q.Call.callFields, q.Call.Content)
	if err != nil {
		return err
	}
	if u := r.uses.Use(c.ID); u.IsPending() && r.delegated() {
		u.Sub = true
	}
	name, input := c.toolUse()
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	return r.permit(m, &q, vendor.Permission{Use: c.ID, Tool: name, Input: raw, Detail: c.Title})
}

// delegated reports whether a sub-agent runs. The agent does not report which of the calls a
// sub-agent makes.
func (r *run) delegated() bool {
	for id, c := range r.calls {
		u := r.uses.Use(id)
		if u == nil || u.IsPending() || u.Ended() {
			continue
		}
		if c.ToolKind == string(sdk.ToolKindThink) || u.Name == "Task" || u.Name == "Agent" {
			return true
		}
	}
	return false
}

// permit requests the decision about a call. To allow the call, it selects only the option "allow
// once".
func (r *run) permit(m *jsonrpc.Message, q *permission, p vendor.Permission) error {
	id := slices.Clone(m.ID)
	yes, no := q.choose(sdk.PermissionOptionKindAllowOnce), q.choose(sdk.PermissionOptionKindRejectOnce)
	if yes == "" {
		if err := r.uses.NoticeOnce("the agent offers no \"allow once\" option: " + lineio.Truncate(q.Call.Title, 80)); err != nil {
			return err
		}
	}
	return r.uses.Ask(string(id), p, func(a vendor.Answer) {
		switch {
		case a.Allow && a.Input == nil && yes != "":
			r.conn.Reply(id, selected(yes))
		case a.Interrupt || no == "":
			r.conn.Reply(id, cancelled())
		default:
			r.conn.Reply(id, selected(no))
		}
		if a.Interrupt {
			r.conn.Notify(sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(r.session)})
		}
	})
}
