package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// viewText returns what a view must print for an event, in order; nothing if it prints nothing.
type viewText func(e event.Event) []string

// shownAs lists how views print events of one type. A view that omits a type by design has its reason instead.
type shownAs struct {
	text, stream, socket       viewText
	noText, noStream, noSocket string
}

// Reasons of several types.
const (
	inProgress    = "the progress line shows only that work continues"
	inItem        = "the call is in the model's message, and its result in the next one, as Claude Code has it"
	inResult      = "the result contains it for the whole turn"
	noTurns       = "the turn is the command's, or the run's"
	notInProtocol = "agentkit's protocol has no message for it; GET /v1/sessions/{id}/events has it"
	internals     = "it is for telemetry"
	byApprover    = "the asker prints the request"
	inRunEvents   = "the run's own messages say it"
)

// shownBy has an entry for each type of event.
func shownBy() map[string]shownAs {
	return map[string]shownAs{
		"session_opened":    {text: openedText, stream: openedStream, noSocket: inRunEvents},
		"turn_started":      {noText: inProgress, noStream: noTurns, noSocket: inRunEvents},
		"text_delta":        {text: deltaText, stream: delta, socket: delta},
		"thinking_delta":    {text: deltaText, stream: delta, socket: delta},
		"tool_input_delta":  {noText: inProgress, stream: delta, socket: delta},
		"tool_output_delta": {noText: "the result shows it", noStream: inItem, noSocket: notInProtocol},
		"item_appended":     {text: itemText, stream: itemStream, socket: itemSocket},
		"decided":           {text: deniedText, stream: deniedStream, noSocket: notInProtocol},
		"approval_asked":    {noText: byApprover, stream: askedStream, socket: askedSocket},
		"approval_resolved": {text: resolvedText, stream: resolvedStream, socket: resolvedSocket},
		"policy_changed":    {text: policyText, stream: policyStream, noSocket: inRunEvents},
		"tool_started":      {text: startedText, noStream: inItem, socket: startedSocket},
		"tool_finished":     {text: finishedText, noStream: inItem, socket: finishedSocket},
		"subagent":          {text: subagentText, stream: subagentStream, socket: subagentSocket},
		"tools_changed":     {noText: internals, noStream: "only init lists tools, as Claude Code has it", noSocket: notInProtocol},
		"compacting":        {noText: inProgress, stream: func(event.Event) []string { return []string{`system/status {"status":"compacting"}`} }, noSocket: "the record of the result contains it"},
		"mutation_finished": {text: rewrittenText, stream: rewrittenStream, noSocket: "retention, from the record of the rewrite, contains it"},
		"usage_updated":     {noText: inResult, noStream: inResult, noSocket: inRunEvents},
		"retrying":          {text: func(e event.Event) []string { return []string{e.(event.ModelRetrying).Err.Error(), "retrying in"} }, stream: retryingStream, socket: retryingSocket},
		"model_switched": {text: func(e event.Event) []string {
			return []string{e.(event.ModelSwitched).From, e.(event.ModelSwitched).To}
		}, stream: switchedStream, noSocket: notInProtocol},
		"hook_ran":           {text: hookText, stream: hookStream, noSocket: notInProtocol},
		"terminal_sequences": {text: func(event.Event) []string { return nil }, noStream: "a stream is no terminal", noSocket: "a client is no terminal"},
		"notified":           {text: func(e event.Event) []string { return []string{e.(event.Notification).Body} }, stream: notifiedStream, socket: notifiedSocket},
		"model_started":      {noText: inProgress, noStream: "Claude Code's message_start comes with the first delta", socket: modelSocket},
		"model_finished":     {noText: internals, noStream: "the model's message contains it", noSocket: "agent_output contains it"},
		"notice":             {text: func(e event.Event) []string { return []string{e.(event.Notice).Text} }, stream: noticeStream, socket: noticeSocket},
		"turn_finished":      {noText: inResult, noStream: inResult, noSocket: inRunEvents},
		"result":             {text: resultText, stream: resultStream, noSocket: inRunEvents},
	}
}

// eventTypes are all types of events, as package event names them.
func eventTypes(t *testing.T) (list []string) {
	t.Helper()
	src, err := os.ReadFile("../../event/json.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(\w+)": +read\[`).FindAllStringSubmatch(string(src), -1) {
		list = append(list, m[1])
	}
	return list
}

// Each type of event has an entry for each view, or a reason not to.
func TestViewsCoverEvents(t *testing.T) {
	types := eventTypes(t)
	for _, name := range types {
		s, ok := shownBy()[name]
		if !ok {
			t.Errorf("%s has no place", name)
			continue
		}
		for view, of := range map[string]struct {
			text viewText
			not  string
		}{"terminal": {s.text, s.noText}, "stream-json": {s.stream, s.noStream}, "WebSocket": {s.socket, s.noSocket}} {
			if (of.text == nil) != (of.not != "") {
				t.Errorf("%s in %s: it needs a text or a reason", name, view)
			}
		}
	}
	if len(types) != len(shownBy()) {
		t.Errorf("%d types, %d places", len(types), len(shownBy()))
	}
}

func js(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// asRead returns a value after a round trip through JSON.
func asRead(v any) (out any) {
	if err := json.Unmarshal([]byte(js(v)), &out); err != nil {
		return err.Error()
	}
	return out
}

func textOf(e event.Event) (kind, text string) {
	switch e := e.(type) {
	case event.TextDelta:
		return "text", e.Text
	case event.ThinkingDelta:
		return "thinking", e.Text
	case event.ToolInputDelta:
		return "input", e.JSON
	case event.ToolOutputDelta:
		return "output", e.Text
	}
	return "", ""
}

func delta(e event.Event) []string {
	kind, text := textOf(e)
	return []string{"delta " + kind + " " + js(text)}
}

func deltaText(e event.Event) []string {
	_, text := textOf(e)
	return []string{text}
}

func openedText(e event.Event) []string { return e.(event.SessionOpened).Notices }

func openedStream(e event.Event) []string {
	o := e.(event.SessionOpened)
	list := []string{fmt.Sprintf("init %s %v %q %v", o.ID, o.Created, o.Forked, o.Tools)}
	for _, n := range o.Notices {
		list = append(list, "system/informational "+js(map[string]any{"content": n}))
	}
	return list
}

// parts returns an item's parts, one line each.
func parts(list []transcript.Part) (lines []string) {
	for _, p := range list {
		switch p := p.(type) {
		case transcript.Text:
			lines = append(lines, "text "+js(p.Text))
		case transcript.Thinking:
			lines = append(lines, "thinking "+js(p.Text))
		case transcript.ToolUse:
			lines = append(lines, "use "+p.ID+" "+p.Name+" "+js(p.Input))
		case transcript.ToolResult:
			lines = append(lines, fmt.Sprintf("result %s %v %v", p.UseID, p.IsError, parts(p.Content)))
		}
	}
	return lines
}

func decoded(e event.Event) transcript.Item {
	it, err := e.(event.ItemAppended).Item.Decode()
	if err != nil {
		panic(err)
	}
	return it
}

func itemText(e event.Event) []string {
	it := decoded(e)
	if it.Role == transcript.RoleAssistant {
		return []string{it.Text()}
	}
	return nil // a tool's result is shown when the tool ends
}

func itemStream(e event.Event) []string {
	it := decoded(e)
	kind := map[transcript.Role]string{transcript.RoleAssistant: "assistant", transcript.RoleTool: "user"}[it.Role]
	if kind == "" {
		return nil // the user's own input is not repeated
	}
	return []string{fmt.Sprintf("%s %s %d %v", kind, it.ID, e.(event.ItemAppended).Seq, parts(it.Parts))}
}

func itemSocket(e event.Event) []string {
	it := decoded(e)
	var list []string
	for _, p := range it.Parts {
		switch p := p.(type) {
		case transcript.ToolUse:
			list = append(list, "tool-call "+p.ID+" "+p.Name+" "+js(string(p.Input)))
		case transcript.ToolResult:
			list = append(list, fmt.Sprintf("tool-result %s %v %s", p.UseID, p.IsError, js(p.Text())))
		}
	}
	switch it.Role {
	case transcript.RoleAssistant:
		list = append(list, "agent_output "+it.ID+" "+js(it.Text()))
	case transcript.RoleUser, transcript.RoleNotification:
		list = append(list, "agent_input "+it.ID+" "+js(it.Text()))
	}
	return list
}

func deniedText(e event.Event) []string {
	if d := e.(event.DecisionMade).Decision; d.Effect == policy.Deny {
		return []string{"denied:", d.Tool, d.Reason}
	}
	return nil
}

func deniedStream(e event.Event) []string {
	d := e.(event.DecisionMade).Decision
	if d.Effect != policy.Deny {
		return nil
	}
	return []string{"system/permission_denied " + js(map[string]any{"decision_reason": cmp.Or(d.Reason, d.By), "tool_name": d.Tool, "tool_use_id": d.Use})}
}

func askedStream(e event.Event) []string {
	q := e.(event.ApprovalAsked).Request
	return []string{"system/approval_asked " + js(map[string]any{"approval_id": q.ID, "tool_use_id": q.Use, "tool_name": q.Tool, "reason": question.ReasonLine(q)})}
}

func askedSocket(e event.Event) []string {
	q := e.(event.ApprovalAsked).Request
	return []string{"request_permission " + q.ID + " " + q.Use + " " + q.Tool + " " + q.Digest}
}

func resolvedText(e event.Event) []string {
	a := e.(event.ApprovalResolved).Answer
	return []string{"answered:", string(a.Decision), a.Actor}
}

func resolvedStream(e event.Event) []string {
	a := e.(event.ApprovalResolved)
	return []string{"system/approval_resolved " + js(map[string]any{"approval_id": a.ID, "decision": a.Answer.Decision, "by": a.Answer.Actor, "via": a.Answer.Via})}
}

func resolvedSocket(e event.Event) []string {
	a := e.(event.ApprovalResolved)
	return []string{"permission_resolved " + a.ID + " " + string(a.Answer.Decision) + " " + a.Answer.Actor + " " + a.Answer.Via}
}

func policyText(e event.Event) []string {
	c := e.(event.PolicyChanged).Change
	return []string{string(c.Mode), c.By}
}

func policyStream(e event.Event) []string {
	return []string{"system/policy_changed " + js(map[string]any{"change": asRead(e.(event.PolicyChanged).Change)})}
}

func startedText(e event.Event) []string {
	s := e.(event.ToolStarted)
	var in map[string]string
	_ = json.Unmarshal(s.Input, &in) // a value that is not a text has no headline
	return []string{s.Tool, cmp.Or(in["command"], cmp.Or(in["file_path"], in["description"]))}
}

func startedSocket(e event.Event) []string {
	s := e.(event.ToolStarted)
	return []string{"tool-start " + s.Use + " " + s.Tool}
}

func finishedText(e event.Event) []string {
	f := e.(event.ToolFinished)
	state := "ok"
	switch code := f.ExitCode; {
	case code != nil && *code != 0:
		state = "exit " + strconv.Itoa(*code)
	case f.IsError:
		state = "error"
	}
	return append([]string{state}, strings.Split(transcript.ToolResult{Content: f.Content}.Text(), "\n")...)
}

func finishedSocket(e event.Event) []string {
	f := e.(event.ToolFinished)
	code := "-"
	if f.ExitCode != nil {
		code = strconv.Itoa(*f.ExitCode)
	}
	return []string{fmt.Sprintf("tool-finish %s %s %v %s", f.Use, f.Tool, f.IsError, code)}
}

// running are the tools of the running calls, by use.
type running map[string]string

// detached are the calls that continue in the background after e, the event that follows the others.
func (r running) detached(e event.Event) (uses []string) {
	switch e := e.(type) {
	case event.ToolStarted:
		r[e.Use] = e.Tool
	case event.ToolFinished:
		delete(r, e.Use)
	case event.ItemAppended:
		for _, use := range e.Item.ResultIDs() {
			if r[use] != "" {
				uses = append(uses, use)
			}
		}
	}
	return uses
}

// For a sub-agent, a terminal shows its calls and denials, and with --verbose its answers; a stream shows its
// answers, denials and approval requests; a WebSocket shows all that the protocol supports.
func subagentText(e event.Event) []string {
	s := e.(event.SubagentEvent)
	switch of := s.Event.(type) {
	case event.ToolStarted:
		return append([]string{s.Name}, startedText(of)...)
	case event.DecisionMade:
		return deniedText(of)
	case event.ApprovalResolved:
		return append([]string{s.Name}, resolvedText(of)...)
	case event.ItemAppended:
		return itemText(of)
	}
	return nil
}

func subagentStream(e event.Event) []string {
	s := e.(event.SubagentEvent)
	switch of := s.Event.(type) {
	case event.ItemAppended:
		list := itemStream(of)
		for i := range list {
			list[i] += " of " + s.Use
		}
		return list
	case event.DecisionMade, event.ApprovalAsked, event.ApprovalResolved:
		return shownBy()[of.Type()].stream(of)
	}
	return nil
}

func subagentSocket(e event.Event) []string {
	s := e.(event.SubagentEvent)
	frames := shownBy()[s.Event.Type()].socket
	if frames == nil || event.Provisional(s.Event) {
		return nil
	}
	list := frames(s.Event)
	for i := range list {
		list[i] += " of " + s.Name
	}
	return list
}

func rewrittenText(e event.Event) []string {
	m := e.(event.TranscriptRewritten)
	return []string{strconv.Itoa(m.Before), strconv.Itoa(m.After)}
}

func rewrittenStream(e event.Event) []string {
	m := e.(event.TranscriptRewritten)
	return []string{"system/compact_boundary " + js(map[string]any{"compact_metadata": map[string]any{
		"by": m.Mutator, "pre_items": m.Before, "post_items": m.After, "trigger": m.Trigger, "pre_tokens": m.TokensBefore, "post_tokens": m.TokensAfter,
	}})}
}

func retryingStream(e event.Event) []string {
	r := e.(event.ModelRetrying)
	return []string{"system/api_retry " + js(map[string]any{"attempt": r.Attempt, "delay_ms": r.Delay.Milliseconds(), "error": r.Err.Error()})}
}

func retryingSocket(e event.Event) []string {
	r := e.(event.ModelRetrying)
	return []string{fmt.Sprintf("retry %d %d %s", r.Attempt, r.Delay.Milliseconds(), r.Err)}
}

func switchedStream(e event.Event) []string {
	m := e.(event.ModelSwitched)
	return []string{"system/model_switched " + js(map[string]any{"error": m.Err.Error(), "from": m.From, "to": m.To})}
}

func hookText(e event.Event) []string {
	var list []string
	for _, n := range e.(event.HookRan).Ran.Messages {
		list = append(list, n.Text)
	}
	return list
}

func hookStream(e event.Event) []string {
	r := e.(event.HookRan).Ran
	var list []string
	for _, h := range r.Hooks {
		list = append(list, "hook "+r.Event+" "+r.Use+" "+h.Name)
	}
	for _, n := range r.Messages {
		list = append(list, "system/informational "+js(map[string]any{"content": n.Text, "hook": n.Hook}))
	}
	return list
}

func notifiedStream(e event.Event) []string {
	n := e.(event.Notification)
	return []string{"system/notification " + js(map[string]any{"body": n.Body, "level": n.Level, "title": n.Title})}
}

func notifiedSocket(e event.Event) []string {
	n := e.(event.Notification)
	return []string{"notice " + js(n.Title+n.Body)}
}

func modelSocket(e event.Event) []string {
	m := e.(event.ModelStarted)
	return []string{fmt.Sprintf("step-start %s %d", m.Model, m.Attempt)}
}

func noticeStream(e event.Event) []string {
	return []string{"system/informational " + js(map[string]any{"content": e.(event.Notice).Text})}
}

func noticeSocket(e event.Event) []string { return []string{"notice " + js(e.(event.Notice).Text)} }

func resultText(e event.Event) []string {
	r := e.(event.Result)
	list := []string{"session " + r.SessionID, term.Count(r.Turns, "model call")}
	if why := view.EndReason(r); why != "" {
		list = slices.Insert(list, 0, why)
	}
	return list
}

func resultStream(e event.Event) []string {
	r := e.(event.Result)
	return []string{fmt.Sprintf("result %s %s %d %g", r.SessionID, r.Reason, r.Turns, r.CostUSD)}
}
