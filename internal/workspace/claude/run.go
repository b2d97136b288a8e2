package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// run is a running turn.
type run struct {
	ctx  context.Context
	turn vendor.Turn
	sink vendor.Sink
	out  *lineio.Writer
	end  *vendor.End

	open    *transcript.Item // the message whose blocks are being received
	id      string           // id of that message
	usage   usage            // its usage so far
	counted string           // the last message whose usage was added to an item
	began   bool
	trouble string // an error text that the program sent as if it were a message of the model

	waiting  sync.WaitGroup // pending permission requests
	mu       sync.Mutex
	permits  map[string]context.CancelFunc // cancels by request id
	reported map[string]bool               // unknown event types that were already reported
}

func (r *run) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // strings and parsed JSON cannot fail
	}
	r.out.Send(b)
}

// handle handles one line. Invalid lines are reported and skipped.
func (r *run) handle(line []byte) error {
	var e event
	err := json.Unmarshal(line, &e)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd && e.Type == "result" {
		err = nil // the turn must end even if a number in the result has an unexpected type
	}
	if err != nil || e.Type == "" {
		return r.sink.Notice("not an event: " + lineio.Truncate(string(line), 200))
	}
	switch e.Type {
	case "system":
		return r.system(&e)
	case "stream_event":
		return r.stream(&e)
	case "assistant":
		return r.assistant(&e)
	case "user":
		return r.user(&e)
	case "result":
		return r.result(&e)
	case "control_request":
		return r.request(&e)
	case "control_cancel_request":
		r.mu.Lock()
		if stop := r.permits[e.RequestID]; stop != nil {
			stop()
		}
		r.mu.Unlock()
		return nil
	case "control_response":
		if e.Response != nil && e.Response.Subtype == "error" {
			return fmt.Errorf("claude rejected request %s: %s", e.Response.RequestID, e.Response.Error)
		}
		return nil
	case "rate_limit_event":
		return r.sink.Notice("rate limit: " + lineio.Truncate(string(e.Info), 300))
	case "keep_alive", "tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "transcript_mirror":
		return nil
	}
	return r.unknown("unknown event type: " + lineio.Truncate(e.Type, 80))
}

// unknown reports an event of an unknown type, once for each type.
func (r *run) unknown(what string) error {
	if r.reported[what] {
		return nil
	}
	r.reported[what] = true
	return r.sink.Notice(what)
}

func (r *run) system(e *event) error {
	switch e.Subtype {
	case "init":
		r.began = true
		return r.sink.SessionStarted(e.Session)
	case "compact_boundary":
		return r.sink.Notice("the agent has compacted its own transcript")
	}
	return nil
}

// stream handles an event of the API's stream, which has deltas or usage.
func (r *run) stream(e *event) error {
	ev := e.Event
	if ev == nil || e.Parent != "" {
		return nil
	}
	switch ev.Type {
	case "message_start":
		if ev.Message == nil {
			return nil
		}
		if err := r.flush(); err != nil {
			return err
		}
		r.id, r.usage = ev.Message.ID, usage{}
		r.mergeUsage(ev.Message.Usage)
	case "content_block_delta":
		if ev.Delta.Text != "" || ev.Delta.Thinking != "" {
			return r.sink.Delta(vendor.Delta{Text: ev.Delta.Text, Thinking: ev.Delta.Thinking})
		}
	case "message_delta":
		r.mergeUsage(ev.Usage)
		if r.open != nil {
			r.open.Finish = finishOf(ev.Delta.Stop)
		}
	case "message_stop":
		return r.flush()
	}
	return nil
}

// mergeUsage merges a report of a message's usage into the usage so far. Each event reports other
// fields, so it keeps the largest value of each field.
func (r *run) mergeUsage(u *usage) {
	if u == nil {
		return
	}
	r.usage.Input = max(r.usage.Input, u.Input)
	r.usage.Output = max(r.usage.Output, u.Output)
	r.usage.CacheRead = max(r.usage.CacheRead, u.CacheRead)
	r.usage.CacheWrite = max(r.usage.CacheWrite, u.CacheWrite)
}

func finishOf(stop string) transcript.Finish {
	switch stop {
	case "end_turn", "stop_sequence":
		return transcript.FinishStop
	case "tool_use":
		return transcript.FinishToolUse
	case "refusal":
		return transcript.FinishRefusal
	case "max_tokens", "pause_turn", "model_context_window_exceeded":
		return transcript.FinishMaxTokens
	}
	return ""
}

// synthetic is the model name in messages that the program itself has written.
const synthetic = "<synthetic>"

// assistant handles blocks of a message. Blocks with the same id form one item, unless permission
// for one of its tools is requested before the last block arrives.
func (r *run) assistant(e *event) error {
	m := e.Message
	if m == nil || e.Parent != "" { // a sub-agent's text is not part of the transcript
		return nil
	}
	parts, err := partsOf(m.Content)
	if err != nil {
		return r.sink.Notice(err.Error())
	}
	if m.Model == synthetic || len(e.Error) > 0 && string(e.Error) != "null" {
		r.trouble = cmp.Or(transcript.Item{Parts: parts}.Text(), string(e.Error))
		return nil
	}
	if r.open != nil && m.ID != r.id {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if m.ID != r.id {
		r.id, r.usage = m.ID, usage{}
	}
	r.mergeUsage(m.Usage)
	if r.open == nil {
		r.open = &transcript.Item{Role: transcript.RoleAssistant, Model: m.Model}
	}
	r.open.Parts = append(r.open.Parts, parts...)
	if f := finishOf(m.Stop); f != "" {
		r.open.Finish = f
	}
	return nil
}

// flush emits the open item.
func (r *run) flush() error {
	it := r.open
	if it == nil {
		return nil
	}
	r.open = nil
	if r.counted != r.id || r.id == "" {
		r.counted = r.id
		u := r.usage.tokens()
		it.Usage = &u
	}
	return r.sink.Item(*it)
}

// user handles tool results. Other user messages only repeat the driver's input.
func (r *run) user(e *event) error {
	if e.Message == nil || e.Parent != "" {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	parts, err := partsOf(e.Message.Content)
	if err != nil {
		return r.sink.Notice(err.Error())
	}
	parts = slices.DeleteFunc(parts, func(p transcript.Part) bool {
		_, ok := p.(transcript.ToolResult)
		return !ok
	})
	if len(parts) == 0 {
		return nil
	}
	return r.sink.Item(transcript.Item{Role: transcript.RoleTool, Parts: parts})
}

// partsOf parses a message's content. Older programs use other names in results.
func partsOf(content json.RawMessage) ([]transcript.Part, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	parts, err := convert.Parts(content)
	for i, p := range parts {
		c, ok := p.(transcript.Custom)
		if !ok || c.Kind != "anthropic/tool_result" {
			continue
		}
		var old struct {
			Use     string          `json:"toolUseId"`
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"isError"`
		}
		if json.Unmarshal(c.Value, &old) != nil || old.Use == "" {
			continue
		}
		inner, err := partsOf(old.Content)
		if err != nil {
			return nil, err
		}
		parts[i] = transcript.ToolResult{UseID: old.Use, Content: inner, IsError: old.IsError}
	}
	return parts, err
}

// result ends the turn. It ignores a second result.
func (r *run) result(e *event) error {
	if err := r.flush(); err != nil {
		return err
	}
	end := &vendor.End{Text: e.Result, Usage: e.Usage.tokens(), Cost: e.Cost, Turns: e.Turns}
	if e.IsError || e.Subtype != "success" && e.Subtype != "" {
		end.Text = ""
		end.Failure = cmp.Or(strings.Join(e.Errors, "; "), r.trouble, e.Result, e.Subtype, "error")
		end.ResumeFailed = r.turn.Resume && (!r.began || isResumeError(end.Failure))
	}
	r.end = end
	return nil
}

// request answers the program's requests. The guards decide about requests for a tool.
func (r *run) request(e *event) error {
	q := e.Request
	switch {
	case q == nil:
		return r.sink.Notice("control_request without a request")
	case q.Subtype == "hook_callback" && q.Callback == askHook:
		r.send(response(e.RequestID, map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "the guards of the workspace decide",
		}}))
		return nil
	case q.Subtype == "can_use_tool":
		if err := r.flush(); err != nil {
			return err
		}
		r.permit(e.RequestID, vendor.Permission{
			Use: q.Use, Parent: e.Parent, Tool: q.Tool, Input: slices.Clone(q.Input), Detail: q.Reason,
		})
		return nil
	}
	r.send(refusal(e.RequestID, "not supported: "+q.Subtype))
	return r.unknown("unknown request type: " + lineio.Truncate(q.Subtype, 80))
}

// permit requests the decision about a tool use on a new goroutine, so that reading continues.
func (r *run) permit(id string, p vendor.Permission) {
	ctx, stop := context.WithCancel(r.ctx)
	r.mu.Lock()
	r.permits[id] = stop
	r.mu.Unlock()
	r.waiting.Go(func() {
		defer func() {
			stop()
			r.mu.Lock()
			delete(r.permits, id)
			r.mu.Unlock()
		}()
		a, err := r.sink.Permit(ctx, p)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return // no one waits for the answer
		case err != nil:
			a = vendor.Answer{Message: err.Error()}
		}
		r.send(response(id, decision(a, p)))
	})
}

func decision(a vendor.Answer, p vendor.Permission) map[string]any {
	if !a.Allow {
		d := map[string]any{"behavior": "deny", "message": cmp.Or(a.Message, "not allowed")}
		if a.Interrupt {
			d["interrupt"] = true
		}
		return d
	}
	in := a.Input
	if in == nil {
		in = p.Input
	}
	if len(in) == 0 {
		in = json.RawMessage("{}")
	}
	return map[string]any{"behavior": "allow", "updatedInput": in}
}
