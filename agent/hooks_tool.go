package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hookResults holds the results of the hooks of a call.
type hookResults struct {
	fired    bool              // PreToolUse was fired
	shown    []policy.Request  // the requests shown to PreToolUse, for the decision that follows
	verdicts []hookVerdict     // for the guard
	seen     []json.RawMessage // the inputs that were passed to PreToolUse hooks, or that they returned
	input    json.RawMessage   // replaces the model's input, or nil
	defers   bool              // a hook deferred the call
	context  []string          // texts for the model, added to the result
	denied   bool              // PermissionDenied was fired
	entries  []entry           // not yet recorded
}

// hookVerdict is a hook's verdict about a call with one input.
type hookVerdict struct {
	policy.Contribution
	input json.RawMessage
}

// addVerdicts adds the verdicts of an outcome about a call with this input.
func (h *hookResults) addVerdicts(out *hook.Outcome, input json.RawMessage) {
	for _, s := range hookVerdicts(out) {
		h.verdicts = append(h.verdicts, hookVerdict{s, input})
	}
}

// contributions returns the verdicts that apply to a call with this input. These are the verdicts
// about this input, and every ask, even if it is about another input. An allow or deny applies only
// to the input for which it was given.
func (h *hookResults) contributions(input json.RawMessage) []policy.Contribution {
	if len(h.verdicts) == 0 {
		return nil
	}
	input = jsonscan.Compact(input)
	var list []policy.Contribution
	for _, o := range h.verdicts {
		if bytes.Equal(o.input, input) || o.Effect == policy.Ask {
			list = append(list, o.Contribution)
		}
	}
	return list
}

// hookName returns the name of a hook in guards and decisions.
func hookName(by string) string { return "hook " + by }

// addTexts keeps texts of hooks for the model until the call has a result.
func (h *hookResults) addTexts(e hook.Event, texts []hook.Text) {
	if len(texts) > 0 {
		h.context = append(h.context, hookText(e, texts))
	}
}

// takeEntries returns the hook records that are not stored yet.
func (h *hookResults) takeEntries() []entry {
	e := h.entries
	h.entries = nil
	return e
}

// input returns the input that is judged: the input from the hooks, or else the input from the
// model.
func (c *call) input() json.RawMessage {
	if c.hooks.input != nil {
		return c.hooks.input
	}
	return c.use.Input
}

// firePreToolUse fires PreToolUse, only once per call. An error comes from the tool and means that
// the input is invalid; no hook runs then.
func (l *loop) firePreToolUse(ctx context.Context, c *call) error {
	h := &c.hooks
	if h.fired || c.nested != nil || !l.a.opt.Hooks.Registry.Has(hook.PreToolUse) {
		return nil
	}
	reqs, err := l.requests(c, c.use.Input)
	if err != nil {
		return err
	}
	if h.fired = true; !l.a.opt.Hooks.Registry.Outside(hook.PreToolUse) { // a command may have changed what the call would touch
		h.shown = reqs
	}
	in := hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: c.use.Name, Input: c.use.Input, UseID: c.use.ID, Requests: reqs}}
	out, entries := l.fire(ctx, in)
	h.entries = append(h.entries, entries...)
	h.addTexts(in.Event, out.Context)
	input := jsonscan.Compact(c.use.Input)
	if out.Input != nil {
		h.input = jsonscan.Compact(out.Input)
		input = h.input
	}
	h.merge(&out, input)
	h.defers = out.Permission == "defer"
	return nil
}

// merge adds the results of PreToolUse hooks for an input.
func (h *hookResults) merge(out *hook.Outcome, input json.RawMessage) {
	h.seen = append(h.seen, input)
	h.addVerdicts(out, input)
	if out.Stop != nil {
		h.verdicts = append(h.verdicts, hookVerdict{policy.Contribution{
			Policy: hookName(out.Stop.Hook), Verdict: policy.Verdict{Effect: policy.Deny, Reason: out.Stop.Text, Stop: true},
		}, input})
	}
}

// refirePreToolUse fires PreToolUse for a call whose input was changed by something other than these
// hooks: a policy, a PermissionRequest hook, the approver. It does so once for each input, and
// reports whether it did.
func (l *loop) refirePreToolUse(ctx context.Context, c *call, input json.RawMessage) bool {
	h := &c.hooks
	same := func(seen json.RawMessage) bool { return bytes.Equal(seen, input) }
	if c.nested != nil || !l.a.opt.Hooks.Registry.Has(hook.PreToolUse) || slices.ContainsFunc(h.seen, same) {
		return false
	}
	in := hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: c.use.Name, Input: input, UseID: c.use.ID, Settled: true}}
	in.Tool.Requests, _ = l.requests(c, input) // an invalid input is rejected later, when it is judged
	out, entries := l.fire(ctx, in)
	h.entries = append(h.entries, entries...)
	h.addTexts(in.Event, out.Context)
	h.merge(&out, input)
	return true
}

// hookVerdicts returns the verdicts of an outcome for the guard.
func hookVerdicts(out *hook.Outcome) (list []policy.Contribution) {
	add := func(by string, e policy.Effect, reason string) {
		list = append(list, policy.Contribution{Policy: hookName(by), Verdict: policy.Verdict{Effect: e, Reason: reason, Stop: e == policy.Deny && out.Interrupt}})
	}
	if out.Block != nil {
		add(out.Block.Hook, policy.Deny, out.Block.Text)
	}
	switch out.Permission {
	case "defer":
		add(out.PermissionHook, policy.Ask, cmp.Or(out.PermissionReason, "the hook deferred the call"))
	case "allow", "deny", "ask":
		add(out.PermissionHook, policy.Effect(out.Permission), out.PermissionReason)
	}
	return list
}

// firePermissionRequest fires PermissionRequest if a call needs approval. The hooks' verdicts are
// judged like all others: their allow overrides only an ask that comes from the mode.
func (l *loop) firePermissionRequest(ctx context.Context, c *call) error {
	if c.decision.Effect != policy.Ask || c.hooks.defers || !l.a.opt.Hooks.Registry.Has(hook.PermissionRequest) {
		return nil
	}
	out, entries := l.fire(ctx, hook.Input{
		Event: hook.PermissionRequest,
		Tool: hook.ToolCall{
			Name: c.use.Name, Input: c.call.Input, UseID: c.use.ID, Suggestions: l.suggestions(c), Requests: c.requests,
		},
	})
	c.hooks.entries = append(c.hooks.entries, entries...)
	c.hooks.addTexts(hook.PermissionRequest, out.Context)
	if len(hookVerdicts(&out)) == 0 && len(out.Updates) == 0 {
		return nil
	}
	input := jsonscan.Compact(c.call.Input)
	if out.Input != nil && c.nested == nil {
		c.hooks.input = jsonscan.Compact(out.Input)
		input = c.hooks.input
		l.refirePreToolUse(ctx, c, input)
	}
	c.hooks.addVerdicts(&out, input)
	asked := c.decision
	c.requests = nil // judge again
	if err := l.judge(ctx, c); err != nil {
		return err
	}
	if c.decision.Effect == policy.Ask && out.Permission == "allow" {
		c.hooks.entries = append(c.hooks.entries, entry{event: event.Notice{
			Text: hookName(out.PermissionHook) + " allowed the call, but this call still needs approval: " + cmp.Or(asked.Reason, asked.By),
		}})
	}
	return nil
}

// suggestions returns the rules that the approver can choose for the session, in Claude Code's
// format.
func (l *loop) suggestions(c *call) json.RawMessage {
	type rule struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent,omitempty"`
	}
	type update struct {
		Type        string `json:"type"`
		Rules       []rule `json:"rules"`
		Behavior    string `json:"behavior"`
		Destination string `json:"destination"`
	}
	var list []update
	q := approval.Request{
		ID: "suggestions", Home: l.a.opt.Permissions.Config.Home, Cwd: l.a.cwd(), AskedAt: l.a.opt.Clock(),
	}.ForRequests(c.requests, c.decision)
	for _, s := range q.Scopes {
		if s.Rule == "" {
			continue
		}
		name, content, _ := strings.Cut(s.Rule, "(")
		list = append(list, update{"addRules", []rule{{name, strings.TrimSuffix(content, ")")}}, "allow", "session"})
	}
	if list == nil {
		return nil
	}
	raw, _ := json.Marshal(list) // plain strings cannot fail
	return raw
}

// firePermissionDenied fires PermissionDenied, only once per call. It returns the text to add to
// the refusal that the model reads.
func (l *loop) firePermissionDenied(ctx context.Context, c *call, d *policy.Decision) (more string) {
	h := &c.hooks
	if h.denied || d.By == byInterrupt || d.By == byExpiredCaller || !l.a.opt.Hooks.Registry.Has(hook.PermissionDenied) {
		return ""
	}
	h.denied = true
	why := cmp.Or(d.Reason, d.By)
	out, entries := l.fire(ctx, hook.Input{
		Event: hook.PermissionDenied, Reason: why,
		Tool: hook.ToolCall{Name: c.use.Name, Input: c.input(), UseID: c.use.ID, Error: why, Requests: c.requests}, // handlers of the Open Agent SDK read the error
	})
	h.entries = append(h.entries, entries...)
	h.addTexts(hook.PermissionDenied, out.Context)
	if out.Retry {
		return "\nYou may retry the call."
	}
	return ""
}

// firePostToolUse fires PostToolUse or PostToolUseFailure for a call that has run, and adds the
// hooks' texts to its result.
func (l *loop) firePostToolUse(ctx context.Context, c *call) []entry {
	fire := func(in hook.Input) (hook.Outcome, []entry) {
		in.Tool.Interrupted = in.Event == hook.PostToolUseFailure && ctx.Err() != nil
		return l.fire(ctx, in)
	}
	return l.a.firePostToolUseWith(c, fire, func(in hook.Input) []entry {
		_, entries := l.fireForContext(ctx, in)
		return entries
	})
}

// firePostToolUse is like [loop.firePostToolUse], for a background task, which can end while no
// turn is open.
func (a *Agent) firePostToolUse(ctx context.Context, c *call) []entry {
	fire := func(in hook.Input) (hook.Outcome, []entry) { return a.fire(ctx, in) }
	return a.firePostToolUseWith(c, fire, func(in hook.Input) []entry {
		out, entries := fire(in)
		c.hooks.addTexts(in.Event, out.Context)
		return entries
	})
}

// firePostToolUseWith fires the hooks for the end of a call. The texts of hooks that the parameter
// fire runs are added to the result. The texts of hooks that the parameter aside runs are not.
func (a *Agent) firePostToolUseWith(c *call, fire func(hook.Input) (hook.Outcome, []entry), aside func(hook.Input) []entry) []entry {
	in := hook.Input{
		Event: hook.PostToolUse,
		Tool:  hook.ToolCall{Name: c.use.Name, Input: c.call.Input, UseID: c.use.ID, Took: c.took, Requests: c.requests},
	}
	if c.result.IsError {
		in.Event = hook.PostToolUseFailure
	}
	if a.opt.Hooks.Registry.Has(in.Event) {
		in.Tool.Output, in.Tool.Response = resultText(&c.result), hookResponse(c)
		if c.result.IsError {
			in.Tool.Error = in.Tool.Output
		}
		out, entries := fire(in)
		c.hooks.entries = append(c.hooks.entries, entries...)
		if out.ToolOutput != nil {
			c.result.Content = tool.Text(outputText(out.ToolOutput)).Content
		}
		if out.Block != nil {
			c.hooks.addTexts(in.Event, []hook.Text{{Hook: out.Block.Hook, Text: cmp.Or(out.Block.Text, "blocked")}})
		}
		c.hooks.addTexts(in.Event, out.Context)
	}
	for _, ch := range c.result.Changes {
		entries := aside(hook.Input{Event: hook.FileChanged, File: hook.File{Path: ch.Path, Change: changeKind(ch)}})
		c.hooks.entries = append(c.hooks.entries, entries...)
		if a.opt.Hooks.OnChangeReported != nil {
			a.opt.Hooks.OnChangeReported(ch.Path)
		}
	}
	if from, to := a.cwd(), c.result.Cwd; to != "" && to != from {
		a.at.Store(&to)
		c.hooks.entries = append(c.hooks.entries, aside(hook.Input{Event: hook.CwdChanged, OldCWD: from, NewCWD: to})...)
	}
	c.addContext()
	return c.hooks.takeEntries()
}

// addContext adds the hooks' texts for the model to the result of the call.
func (c *call) addContext() {
	if len(c.hooks.context) == 0 {
		return
	}
	c.result.Content = append(slices.Clip(c.result.Content), transcript.Text{Text: strings.Join(c.hooks.context, "\n")})
	c.hooks.context = nil
}

func changeKind(ch record.FileChange) string {
	switch {
	case ch.Before == "absent":
		return "add"
	case ch.After == "absent":
		return "unlink"
	}
	return "change"
}

// resultText returns the text of a result.
func resultText(r *tool.Result) string { return transcript.ToolResult{Content: r.Content}.Text() }

// hookResponse returns a result in the format of Claude Code's hooks.
func hookResponse(c *call) json.RawMessage {
	text := resultText(&c.result)
	doc := map[string]any{"content": text, "is_error": c.result.IsError, "success": !c.result.IsError}
	var in struct {
		File string `json:"file_path"`
	}
	if json.Unmarshal(c.call.Input, &in) == nil && in.File != "" {
		doc["filePath"] = in.File
	}
	if c.use.Name == "Bash" {
		doc["stdout"], doc["stderr"], doc["interrupted"] = text, "", false
		if c.result.ExitCode != nil {
			doc["exitCode"] = *c.result.ExitCode
		}
	}
	raw, _ := json.Marshal(doc) // the encoding of strings, numbers and booleans cannot fail
	return raw
}

// outputText returns the text of an output that a hook has replaced.
func outputText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// firePostToolBatch fires PostToolBatch when all calls of an answer have results. A hook that
// blocks ends the turn.
func (l *loop) firePostToolBatch(ctx context.Context, r *round) error {
	if !l.a.opt.Hooks.Registry.Has(hook.PostToolBatch) {
		return nil
	}
	in := hook.Input{Event: hook.PostToolBatch}
	for _, c := range r.calls {
		one := hook.ToolCall{Name: c.use.Name, Input: c.use.Input, UseID: c.use.ID}
		if c.call != nil {
			one.Response = hookResponse(c)
		}
		in.Calls = append(in.Calls, one)
	}
	out, entries := l.fireForContext(ctx, in)
	if out.Block != nil && l.turn.stopped == nil {
		l.turn.stopped = &event.Error{HookEvent: string(hook.PostToolBatch), Hook: out.Block.Hook, HookReason: out.Block.Text}
	}
	return l.write(ctx, entries...)
}

// notifyApproval fires Notification for a pending approval request, once.
func (l *loop) notifyApproval(ctx context.Context, c *call) error {
	if c.notified {
		return nil
	}
	c.notified = true
	_, entries := l.fireForContext(ctx, hook.Input{
		Event: hook.Notification,
		Note:  hook.UserNotification{Type: "permission_prompt", Title: "Permission needed", Body: "Holdfast needs your permission to use " + c.use.Name},
	})
	return l.write(ctx, entries...)
}

// deferCall ends the run because a hook deferred a call. The approval request stays open until the
// session resumes, when the call is judged again.
func (l *loop) deferCall() (DriverState, bool, error) {
	res := l.turn.res
	l.countRun(&res)
	res.Reason, res.Text = event.ReasonDeferred, strings.Join(l.turn.text, "\n")
	res.Duration = l.a.opt.Clock().Sub(l.turn.began)
	return DriverState{Result: &res}, true, nil
}

// resumeDeferred judges a call again if a hook deferred it in an earlier run.
func (l *loop) resumeDeferred(ctx context.Context) error {
	r := l.round
	if r == nil || r.asked == nil || r.asked.approval.Reason != reasonDefer {
		return nil
	}
	c := r.asked
	if err := l.withdraw(ctx, *c.approval); err != nil {
		return err
	}
	*c = call{use: c.use}
	l.setAsked(nil)
	return nil
}

// reasonDefer is the reason of the approval request for a call that a hook deferred.
const reasonDefer = "hook-defer"

// targetsOf returns the operations and resources of requests, for the record of a decision.
func targetsOf(reqs []policy.Request) []policy.Target {
	list := make([]policy.Target, len(reqs))
	for i, r := range reqs {
		list[i] = policy.Target{Operation: r.Operation, Resource: r.Resource}
	}
	return list
}
