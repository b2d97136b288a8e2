package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/terminalseq"
)

// mergeOutcome merges the result or failure of a hook.
func (f *fireState) mergeOutcome(e *entry, res result) {
	out := res.Output
	if res.err == nil {
		res.err = out.check()
	}
	if res.Notice != "" {
		f.notice(e, res.Notice)
	}
	run := record.HookRun{Exit: res.Exit, Millis: res.took.Milliseconds()}
	switch {
	case res.err != nil:
		run.Error = cut(res.err.Error(), maxReason)
		run.Effect, run.Reason = f.failureEffect(e, res.err)
	case out.isEmpty():
		if e.kind == typeFunction {
			f.ran().Silent++
			return
		}
	default:
		f.out.Outputs = append(f.out.Outputs, out)
		run.Effect, run.Reason = f.merge(e, out)
		run.Reason = cut(run.Reason, maxReason)
	}
	f.log(run, e)
}

// maxReason is the maximum length of a reason or an error in the log, in characters.
const maxReason = 2000

func (f *fireState) ran() *record.HookRan {
	if f.out.Ran == nil {
		f.out.Ran = &record.HookRan{Event: string(f.in.Event), Use: f.in.Tool.UseID, Tool: f.in.Tool.Name}
	}
	return f.out.Ran
}

func (f *fireState) log(run record.HookRun, e *entry) {
	run.Name, run.Digest, run.Type, run.Rerun = e.by, e.Digest, e.kind, f.in.Tool.Settled
	if o := e.Origin; o.File != "" {
		run.Source = o.File
		if o.Line > 0 {
			run.Source = fmt.Sprintf("%s:%d", o.File, o.Line)
		}
	}
	ran := f.ran()
	ran.Hooks = append(ran.Hooks, run)
}

func (f *fireState) notice(e *entry, what string) {
	f.out.Notices = append(f.out.Notices, Text{Hook: e.by, Text: what})
}

func (f *fireState) info() eventInfo {
	info, _ := f.in.Event.info()
	return info
}

// fail records a failure for hooks that did not run.
func (f *fireState) fail(list []*entry, why error) {
	for _, e := range list {
		f.mergeOutcome(e, result{err: why})
	}
}

// failureEffect returns the effect of a failure: a block, or only a notice.
func (f *fireState) failureEffect(e *entry, err error) (effect, reason string) {
	var s *cancelledError
	quiet := errors.As(err, &s)
	what := "the hook failed: " + err.Error()
	if !e.failClosed {
		if !quiet {
			f.notice(e, what)
		}
		return "", ""
	}
	what = fmt.Sprintf("hook %q failed: %v; a failing hook blocks this event unless its onFailure is \"continue\"", e.by, err)
	if f.out.Block == nil {
		f.out.Block = &Text{Hook: e.by, Text: what}
	} else if !quiet {
		f.notice(e, what)
	}
	return "block", ""
}

// merge merges a checked output. It returns the first effect of the output, in the order of
// [record.HookRun].Effect, and the reason for it.
func (f *fireState) merge(e *entry, out *Output) (effect, reason string) {
	f.noticeUnusable(e, out)
	m := merger{fireState: f, e: e, out: out, allowed: eventEffects(e.info)}
	m.block()
	m.permission()
	m.rewrite()
	m.answer()
	m.texts()
	m.stop()
	m.rest()
	m.message()
	return m.effect, m.reason
}

// merger merges one output into an outcome.
type merger struct {
	*fireState
	e              *entry
	out            *Output
	allowed        effectSet
	effect, reason string
	applied        bool // the message was used as the reason of a block or a denial
}

// recordEffect records an effect; only the first effect is recorded.
func (m *merger) recordEffect(effect, reason string) {
	if m.effect == "" {
		m.effect, m.reason = effect, reason
	}
}

// reasonFor returns the first text that is not empty, or the message if all are empty.
func (m *merger) reasonFor(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	m.applied = m.out.Message != ""
	return m.out.Message
}

func (m *merger) block() {
	if !m.out.blocks() || m.allowed&canBlock == 0 {
		return
	}
	reason := m.reasonFor(m.out.Reason)
	m.recordEffect("block", reason)
	switch {
	case m.fireState.out.Block == nil:
		m.fireState.out.Block = &Text{Hook: m.e.by, Text: cut(reason, maxText)}
	case reason != "":
		m.notice(m.e, "also blocks: "+reason)
	}
	m.fireState.out.SuppressPrompt = m.fireState.out.SuppressPrompt || m.out.HidePrompt && m.allowed&canHidePrompt != 0
}

// strength orders permissions; no permission is the weakest.
func strength(permission string) int { return slices.Index(permissions, permission) }

func (m *merger) permission() {
	p := m.out.permission()
	if p == "" || !m.permits(p) {
		return
	}
	if p == "allow" && m.in.Tool.Settled && m.changes() {
		m.notice(m.e, "its allow is ignored: it was given for a different input")
		return
	}
	reason := m.out.PermissionReason
	if p == "deny" {
		reason = m.reasonFor(reason, m.out.Reason)
	} else if reason == "" {
		reason = m.out.Reason
	}
	m.recordEffect(p, reason)
	if out := &m.fireState.out; out.Permission == "" || strength(out.Permission) < strength(p) {
		out.Permission, out.PermissionHook, out.PermissionReason = p, m.e.by, cut(reason, maxText)
	}
	m.fireState.out.Interrupt = m.fireState.out.Interrupt || m.out.Interrupt && p == "deny" && m.allowed&canInterrupt != 0
}

// permits reports whether the event supports a permission. For example, a permission request cannot
// be answered with ask or defer.
func (m *merger) permits(p string) bool {
	return m.allowed&canPermit != 0 && (m.e.Event != PermissionRequest || p == "allow" || p == "deny")
}

// changes reports whether the hook sets an input that differs from the current input.
func (m *merger) changes() bool {
	return m.out.Input != nil && !jsonscan.Equal(m.out.Input, m.in.Tool.Input)
}

// input replaces the input. An earlier allow was given for another input, so it is removed.
func (m *merger) input() {
	if m.out.Input == nil || m.allowed&canInput == 0 || m.in.Tool.Settled || m.e.Event == PermissionRequest && m.out.permission() != "allow" {
		return
	}
	m.recordEffect("input", "")
	changes := m.changes()
	m.fireState.out.Input, m.fireState.out.InputHook = m.out.Input, m.e.by
	if !changes {
		return
	}
	m.in.Tool.Input, m.in.Tool.Requests, m.inputChanged, m.inputHook = m.out.Input, nil, true, m.e
	if out := &m.fireState.out; out.Permission == "allow" {
		out.Permission, out.PermissionHook, out.PermissionReason = "", "", ""
		m.permission()
	}
}

func (m *merger) rewrite() {
	m.input()
	if res := m.out.ToolOutput; res != nil && m.allowed&canOutput != 0 {
		m.recordEffect("output", "")
		m.in.Tool.Response, m.in.Tool.Output = res, string(res)
		var text string
		if json.Unmarshal(res, &text) == nil {
			m.in.Tool.Output = text
		}
		m.fireState.out.ToolOutput = res
	}
}

// elicitActions are the possible answers to an MCP server.
var elicitActions = []string{actionAccept, "decline", "cancel"}

const actionAccept = "accept"

// answer merges an answer to an MCP server's request: decline and cancel override accept.
func (m *merger) answer() {
	action := m.out.Action
	if action == "" || m.allowed&canAnswer == 0 {
		return
	}
	m.recordEffect(action, "")
	o := &m.fireState.out
	if o.Action != nil && o.Action.Text != actionAccept {
		return
	}
	o.Action, o.Content = &Text{Hook: m.e.by, Text: action}, nil
	if action == actionAccept {
		o.Content = m.out.Content
	}
}

func (m *merger) texts() {
	if m.allowed&canAddContext == 0 {
		return
	}
	for _, text := range [...]string{m.out.Context, m.out.SystemMessage} {
		if text == "" {
			continue
		}
		m.recordEffect("context", "")
		if short := cut(text, maxText); short != text {
			text = short
			m.notice(m.e, fmt.Sprintf("a text for the model was cut after %d characters", maxText))
		}
		m.fireState.out.Context = append(m.fireState.out.Context, Text{Hook: m.e.by, Text: text})
	}
}

func (m *merger) stop() {
	if !m.out.Stop || m.allowed&canStop == 0 {
		return
	}
	reason := m.out.StopReason
	if reason == "" {
		reason = m.out.Reason
	}
	m.recordEffect("stop", reason)
	if m.fireState.out.Stop == nil {
		m.fireState.out.Stop = &Text{Hook: m.e.by, Text: cut(reason, maxText)}
	}
}

func (m *merger) rest() {
	o, out := &m.fireState.out, m.out
	if n := out.Notification; n != nil {
		o.Notifications = append(o.Notifications, n.normal())
	}
	for _, u := range out.Updates {
		u.Hook = m.e.by
		o.Updates = append(o.Updates, u)
	}
	o.Retry = o.Retry || out.Retry && m.allowed&canRetry != 0
	switch seq := out.TerminalSequence; {
	case seq == "":
	case !terminalseq.Safe(seq):
		m.notice(m.e, "a terminal sequence was not sent; only titles, notifications and the bell are allowed")
	default:
		o.Terminal = append(o.Terminal, out.TerminalSequence)
	}
	if out.SessionTitle != "" && m.allowed&canSetTitle != 0 {
		o.SessionTitle = out.SessionTitle
	}
	if out.InitialMessage != "" && m.allowed&canSetInitialMessage != 0 {
		o.InitialMessage = out.InitialMessage
	}
	if m.allowed&canWatch != 0 && out.WatchPaths != nil {
		o.WatchPaths = append(slices.Concat([]string{}, o.WatchPaths), out.WatchPaths...)
	}
	if out.WorktreePath != "" && m.allowed&canWorktree != 0 {
		o.WorktreePath = out.WorktreePath
	}
}

func (m *merger) message() {
	if m.out.Message != "" && !m.applied && !m.out.SuppressOutput {
		m.notice(m.e, m.out.Message)
	}
	if m.out.Warning != "" {
		m.notice(m.e, m.out.Warning)
	}
	out := m.out
	for _, r := range [...]struct {
		text string
		used bool
	}{
		{out.Reason, out.blocks() || out.permission() != "" || out.Stop},
		{out.PermissionReason, out.permission() != ""},
		{out.StopReason, out.Stop},
	} {
		if r.text != "" && !r.used {
			m.notice(m.e, "gave a reason without a decision: "+r.text)
		}
	}
}

// normal returns the notification with a valid level.
func (n *UserNotification) normal() UserNotification {
	return UserNotification{Title: n.Title, Body: n.Body, Level: noteLevel(n.Level)}
}

// cut returns s, cut to limit characters.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}
