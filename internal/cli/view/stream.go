package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Stream writes a run in Claude Code's event format: one JSON object per line, or only the last
// one, the result. Holdfast's additional fields are item_id, seq, stop and exit_code.
type Stream struct {
	Program   *command.Program
	All       bool // true to write every event, false to write only the result
	Partial   bool // stream_event lines
	StartedAt time.Time
	header    Header

	SessionID string
	blocks    partialBlocks
	answer    string // the text of the last assistant item
	denials   []wireDenial
	inputs    map[string]json.RawMessage // inputs keyed by tool use, for the report of denials
	running   map[string]string          // tools of the calls that are running, keyed by tool use
	deferred  *wireDeferred
}

// Start implements [View].
func (v *Stream) Start(s Header) {
	v.header = s
	v.inputs, v.running = map[string]json.RawMessage{}, map[string]string{}
}

// Render implements [View].
func (v *Stream) Render(e event.Event) error {
	switch e := e.(type) {
	case event.SessionOpened:
		return v.opened(e)
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		if v.All && v.Partial {
			return v.blocks.delta(e, v.header.Model, v.emitEvent)
		}
	case event.ItemAppended:
		return v.item(e)
	case event.ToolStarted:
		v.running[e.Use] = e.Tool
	case event.ToolFinished:
		delete(v.running, e.Use)
	case event.SubagentEvent:
		return v.subagent(e)
	case event.DecisionMade:
		return v.decided(e.Decision)
	case event.ApprovalAsked:
		return v.asked(e.Request)
	case event.ApprovalResolved:
		return v.resolved(e)
	case event.PolicyChanged:
		return v.system("policy_changed", map[string]any{"change": e.Change})
	case event.ModelRetrying:
		v.blocks = partialBlocks{}
		return v.system("api_retry", map[string]any{
			"attempt": e.Attempt, "delay_ms": e.Delay.Milliseconds(), "error": e.Err.Error(),
		})
	case event.ModelSwitched:
		return v.system("model_switched", map[string]any{"from": e.From, "to": e.To, "error": e.Err.Error()})
	case event.CompactionStarted:
		return v.system("status", map[string]any{"status": "compacting"})
	case event.TranscriptRewritten:
		return v.rewritten(e)
	case event.HookRan:
		return v.hookRan(e)
	case event.Notification:
		return v.notified(e)
	case event.Notice:
		return v.system("informational", map[string]any{"content": e.Text})
	case event.Result:
		return v.result(e)
	}
	return nil
}

// rewritten reports a rewrite of the transcript. It uses Claude Code's compact_boundary for a
// compaction, and Holdfast's own event for other rewrites.
func (v *Stream) rewritten(e event.TranscriptRewritten) error {
	about := map[string]any{"by": e.Mutator, "pre_items": e.Before, "post_items": e.After}
	if e.Trigger == "" {
		return v.system("transcript_rewritten", map[string]any{"rewrite_metadata": about})
	}
	about["trigger"] = e.Trigger
	about["pre_tokens"], about["post_tokens"] = e.TokensBefore, e.TokensAfter
	return v.system("compact_boundary", map[string]any{"compact_metadata": about})
}

// withTools returns servers in which each approved server with tools is reported as connected.
func withTools(servers []WireServer, tools []string) []WireServer {
	list := append([]WireServer{}, servers...)
	for i := range list {
		s := &list[i]
		has := func(name string) bool { return strings.HasPrefix(name, "mcp__"+s.Name+"__") }
		if s.Status == string(settings.MCPApproved) && slices.ContainsFunc(tools, has) {
			s.Status = string(mcp.Connected)
		}
	}
	return list
}

// system writes an event of type system.
func (v *Stream) system(subtype string, fields map[string]any) error {
	if !v.All {
		return nil
	}
	fields["type"], fields["subtype"] = "system", subtype
	fields["session_id"], fields["uuid"] = v.SessionID, uuid.NewString()
	return v.Program.Out.JSON(fields, false)
}

func (v *Stream) opened(e event.SessionOpened) error {
	v.SessionID = e.ID
	tools := e.Tools
	if tools == nil { // not reported before
		tools = v.header.Tools
	}
	err := v.emit(wireInit{
		Type: "system", Subtype: "init", CWD: v.header.Cwd, SessionID: v.SessionID, Tools: tools,
		MCPServers: withTools(v.header.Servers, tools), Model: v.header.Model, PermissionMode: v.header.Mode(), SlashCommands: nonNil(v.header.Offered.Commands),
		APIKeySource: v.header.KeySource, OutputStyle: "default", Agents: nonNil(v.header.Offered.Agents), Skills: nonNil(v.header.Offered.Skills), Plugins: []string{},
		Version: version.Current().Version, Created: e.Created, ForkedFrom: e.Forked, UUID: uuid.NewString(),
	})
	for _, n := range e.Notices {
		if err == nil {
			err = v.system("informational", map[string]any{"content": n})
		}
	}
	return err
}

// nonNil returns a list that is encoded as an array in JSON, even if it is empty.
func nonNil(names []string) []string { return append([]string{}, names...) }

func (v *Stream) emit(event any) error {
	if !v.All {
		return nil
	}
	return v.Program.Out.JSON(event, false)
}

func (v *Stream) emitEvent(event any) error {
	return v.emit(wireStreamEvent{Type: "stream_event", Event: event, SessionID: v.SessionID, UUID: uuid.NewString()})
}

// item writes assistant answers and tool results. User items are not repeated.
func (v *Stream) item(e event.ItemAppended) error {
	if e.Item.Role() == transcript.RoleAssistant {
		v.answer = e.Item.Text()
	}
	v.storeInputs(e.Item)
	if !v.All {
		return nil
	}
	it, err := e.Item.Decode()
	if err != nil {
		return err
	}
	if it.Role == transcript.RoleAssistant {
		if err := v.blocks.end(it, v.emitEvent); err != nil {
			return err
		}
	}
	if err := v.detached(e.Item.ResultIDs()); err != nil {
		return err
	}
	return v.message(it, e.Seq, nil)
}

// detached reports calls that already have a result but still run in the background.
func (v *Stream) detached(uses []string) error {
	for _, use := range uses {
		tool, ok := v.running[use]
		if !ok {
			continue
		}
		delete(v.running, use)
		if err := v.system("task_started", map[string]any{"task_id": use, "tool_use_id": use, "tool_name": tool}); err != nil {
			return err
		}
	}
	return nil
}

// storeInputs stores the inputs of tool calls, for reports of denials.
func (v *Stream) storeInputs(e transcript.Encoded) {
	for _, u := range e.Uses() {
		v.inputs[u.ID] = u.Input
	}
}

// message writes an item; parent is the tool use that started its agent, or nil.
func (v *Stream) message(it transcript.Item, seq int64, parent *string) error {
	w := wireItem{ParentToolUseID: parent, SessionID: v.SessionID, UUID: itemUUID(it.ID), ItemID: it.ID, Seq: seq}
	switch it.Role {
	case transcript.RoleAssistant:
		w.Type, w.Message = "assistant", assistantMessage(it)
	case transcript.RoleTool:
		w.Type, w.Message = "user", wireMessage{Role: "user", Content: wireParts(it.Parts)}
	default:
		return nil
	}
	return v.emit(w)
}

// subagent writes the items, approval requests and denials of a sub-agent.
func (v *Stream) subagent(e event.SubagentEvent) error {
	switch of := e.Event.(type) {
	case event.ItemAppended:
		v.storeInputs(of.Item)
		if !v.All {
			return nil
		}
		it, err := of.Item.Decode()
		if err != nil {
			return err
		}
		return v.message(it, of.Seq, &e.Use)
	case event.DecisionMade:
		return v.decided(of.Decision)
	case event.ApprovalAsked:
		return v.asked(of.Request)
	case event.ApprovalResolved:
		return v.resolved(of)
	case event.SubagentEvent:
		return v.subagent(of)
	}
	return nil
}

func (v *Stream) decided(d policy.Decision) error {
	if d.Effect != policy.Deny {
		return nil
	}
	v.denials = append(v.denials, wireDenial{ToolName: d.Tool, ToolUseID: d.Use, ToolInput: v.inputs[d.Use]})
	return v.system("permission_denied", map[string]any{
		"tool_name": d.Tool, "tool_use_id": d.Use, "decision_reason": cmp.Or(d.Reason, d.By),
	})
}

func (v *Stream) result(r event.Result) error {
	w := wireResult{
		Type: "result", Subtype: "success", DurationMS: r.Duration.Milliseconds(), DurationAPIMS: r.ModelDuration.Milliseconds(),
		NumTurns: r.Turns, SessionID: v.SessionID, TotalCostUSD: r.CostUSD, Usage: usageOf(r.Usage),
		ModelUsage: map[string]wireModelUsage{}, PermissionDenials: v.denials, UUID: uuid.NewString(),
	}
	if w.PermissionDenials == nil {
		w.PermissionDenials = []wireDenial{}
	}
	if r.BudgetUSD > 0 {
		w.RunCostUSD, w.BudgetUSD = r.RunCostUSD, r.BudgetUSD
	}
	for name, u := range r.ByModel {
		w.ModelUsage[name] = wireModelUsage{
			InputTokens: u.Usage.Input, OutputTokens: u.Usage.Output, CacheRead: u.Usage.CacheRead,
			CacheWrite: u.Usage.CacheWrite, CostUSD: u.CostUSD, Calls: u.Calls,
		}
	}
	if stop := stopReason(r.Finish); stop != "" {
		w.StopReason = &stop
	}
	w.TerminalReason = string(r.Reason)
	switch r.Reason {
	case event.ReasonCompleted:
		w.Result = &v.answer
	case event.ReasonMaxTurns:
		w.Subtype, w.IsError = "error_max_turns", true
	case event.ReasonHook:
		stop := "hook"
		w.Subtype, w.IsError, w.StopReason = "error_during_execution", true, &stop
	case event.ReasonDeferred:
		stop := "tool_deferred"
		w.StopReason, w.Deferred = &stop, v.deferred
	case event.ReasonBudget:
		w.Subtype, w.IsError = "error_max_budget_usd", true
		if r.Finish != transcript.FinishToolUse && v.answer != "" { // the cost of the last answer exceeded the budget
			w.Result = &v.answer
		}
	default:
		w.Subtype, w.IsError = "error_during_execution", true
	}
	if why := EndReason(r); why != "" && r.Reason != event.ReasonDeferred {
		w.Errors = []string{why}
		w.Hint = outcome.Hint(r.Err)
	}
	return v.Program.Out.JSON(w, false)
}

// RenderError writes a result for a run that ended with an error and no result.
func (v *Stream) RenderError(err error) error {
	out := outcome.FromError(err)
	w := wireResult{
		Type: "result", Subtype: "error_during_execution", IsError: true, Errors: []string{err.Error()},
		Hint: outcome.Hint(err), Code: out.Code, SessionID: v.SessionID, ModelUsage: map[string]wireModelUsage{},
		PermissionDenials: slices.Concat([]wireDenial{}, v.denials), UUID: uuid.NewString(),
		DurationMS: v.Program.Clock().Sub(v.StartedAt).Milliseconds(),
	}
	if w.PermissionDenials == nil {
		w.PermissionDenials = []wireDenial{}
	}
	if werr := v.Program.Out.JSON(w, false); werr != nil {
		return err // Stdout is closed, so the caller prints the error to Stderr
	}
	return command.End(out)
}
