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

// hookResults is what hooks have said to a call.
type hookResults struct {
	recorded bool              // PreToolUse was fired
	shown    []policy.Request  // with it, for the judgement that follows
	texts    []hookVerdict     // for the guard
	seen     []json.RawMessage // the inputs that PreToolUse was fired with, or that came of it
	input    json.RawMessage   // instead of the model's, or nil
	defers   bool              // a hook puts the call off
	context  []string          // for the model, beside the result
	denied   bool              // PermissionDenied was fired
	entries  []entry           // not yet on disk
}

// hookVerdict is what a hook has said to a call with one input.
type hookVerdict struct {
	policy.Contribution
	input json.RawMessage
}

// add keeps what an outcome means for a call with an input.
func (h *hookResults) add(out *hook.Outcome, input json.RawMessage) {
	for _, s := range hookVerdicts(out) {
		h.texts = append(h.texts, hookVerdict{s, input})
	}
}

// about is what hooks have said that counts for a call with an input: all of it, and the
// questions about another one. What they have allowed or denied is no other input.
func (h *hookResults) about(input json.RawMessage) []policy.Contribution {
	if len(h.texts) == 0 {
		return nil
	}
	input = jsonscan.Compact(input)
	var said []policy.Contribution
	for _, o := range h.texts {
		if bytes.Equal(o.input, input) || o.Effect == policy.Ask {
			said = append(said, o.Contribution)
		}
	}
	return said
}

// hookName is how the guard and decisions call a hook.
func hookName(by string) string { return "hook " + by }

// addTexts keeps what hooks say to the model until there is a result to put it beside.
func (h *hookResults) addTexts(e hook.Event, said []hook.Text) {
	if len(said) > 0 {
		h.context = append(h.context, hookText(e, said))
	}
}

// takeEntries are the records of hooks that are not on disk yet.
func (h *hookResults) takeEntries() []entry {
	e := h.entries
	h.entries = nil
	return e
}

// input is what the call is judged with.
func (c *call) input() json.RawMessage {
	if c.hooks.input != nil {
		return c.hooks.input
	}
	return c.use.Input
}

// announce fires PreToolUse, once per call. An error is the tool's: the input makes
// no sense, and no hook is asked about it.
func (l *loop) announce(ctx context.Context, c *call) error {
	h := &c.hooks
	if h.recorded || c.nested != nil || !l.a.opt.Hooks.Registry.Has(hook.PreToolUse) {
		return nil
	}
	reqs, err := l.requests(c, c.use.Input)
	if err != nil {
		return err
	}
	if h.recorded = true; !l.a.opt.Hooks.Registry.Outside(hook.PreToolUse) { // a command may have changed what the call would touch
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

// merge takes in what PreToolUse hooks say to an input.
func (h *hookResults) merge(out *hook.Outcome, input json.RawMessage) {
	h.seen = append(h.seen, input)
	h.add(out, input)
	if out.Stop != nil {
		h.texts = append(h.texts, hookVerdict{policy.Contribution{
			Policy: hookName(out.Stop.Hook), Verdict: policy.Verdict{Effect: policy.Deny, Reason: out.Stop.Text, Stop: true},
		}, input})
	}
}

// refirePreToolUse fires PreToolUse for a call whose input was changed by somebody other
// than these hooks: a policy, a hook of PermissionRequest, a person. It says whether it
// did: once for each input.
func (l *loop) refirePreToolUse(ctx context.Context, c *call, input json.RawMessage) bool {
	h := &c.hooks
	same := func(seen json.RawMessage) bool { return bytes.Equal(seen, input) }
	if c.nested != nil || !l.a.opt.Hooks.Registry.Has(hook.PreToolUse) || slices.ContainsFunc(h.seen, same) {
		return false
	}
	in := hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: c.use.Name, Input: input, UseID: c.use.ID, Settled: true}}
	in.Tool.Requests, _ = l.requests(c, input) // what makes no sense is told when it is judged
	out, entries := l.fire(ctx, in)
	h.entries = append(h.entries, entries...)
	h.addTexts(in.Event, out.Context)
	h.merge(&out, input)
	return true
}

// hookVerdicts are what an outcome means for the guard.
func hookVerdicts(out *hook.Outcome) (said []policy.Contribution) {
	add := func(by string, e policy.Effect, reason string) {
		said = append(said, policy.Contribution{Policy: hookName(by), Verdict: policy.Verdict{Effect: e, Reason: reason, Stop: e == policy.Deny && out.Interrupt}})
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
	return said
}

// consultHooks fires PermissionRequest when a person would be asked about a call.
// What the hooks say is judged like everything else: their allow passes the question
// of a mode, and no other.
func (l *loop) consultHooks(ctx context.Context, c *call) error {
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
	c.hooks.add(&out, input)
	asked := c.decision
	c.requests = nil // judge anew
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

// suggestions are what a person could choose for the session, in Claude
// Code's form.
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

// firePermissionDenied fires PermissionDenied, once per call, and returns what to add to the
// refusal that the model reads.
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

// reviewResult fires PostToolUse or PostToolUseFailure for a call that has run, and puts
// what the hooks say into its result.
func (l *loop) reviewResult(ctx context.Context, c *call) []entry {
	fire := func(in hook.Input) (hook.Outcome, []entry) {
		in.Tool.Interrupted = in.Event == hook.PostToolUseFailure && ctx.Err() != nil
		return l.fire(ctx, in)
	}
	return l.a.review(c, fire, func(in hook.Input) []entry {
		_, entries := l.fireForContext(ctx, in)
		return entries
	})
}

// reviewBackground is reviewResult for a call in the background: no turn may be under way.
func (a *Agent) reviewBackground(ctx context.Context, c *call) []entry {
	fire := func(in hook.Input) (hook.Outcome, []entry) { return a.fire(ctx, in) }
	return a.review(c, fire, func(in hook.Input) []entry {
		out, entries := fire(in)
		c.hooks.addTexts(in.Event, out.Context)
		return entries
	})
}

// review fires the hooks of a call's end. What fire's say goes into the result, what
// aside's say does not.
func (a *Agent) review(c *call, fire func(hook.Input) (hook.Outcome, []entry), aside func(hook.Input) []entry) []entry {
	in := hook.Input{
		Event: hook.PostToolUse,
		Tool:  hook.ToolCall{Name: c.use.Name, Input: c.call.Input, UseID: c.use.ID, Took: c.took, Requests: c.requests},
	}
	if c.result.IsError {
		in.Event = hook.PostToolUseFailure
	}
	if a.opt.Hooks.Registry.Has(in.Event) {
		in.Tool.Output, in.Tool.Response = resultText(&c.result), response(c)
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
		entries := aside(hook.Input{Event: hook.FileChanged, File: hook.File{Path: ch.Path, Change: changeOf(ch)}})
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

// addContext puts what hooks say to the model beside the result of their call.
func (c *call) addContext() {
	if len(c.hooks.context) == 0 {
		return
	}
	c.result.Content = append(slices.Clip(c.result.Content), transcript.Text{Text: strings.Join(c.hooks.context, "\n")})
	c.hooks.context = nil
}

func changeOf(ch record.FileChange) string {
	switch {
	case ch.Before == "absent":
		return "add"
	case ch.After == "absent":
		return "unlink"
	}
	return "change"
}

// resultText is the text of a result.
func resultText(r *tool.Result) string { return transcript.ToolResult{Content: r.Content}.Text() }

// response is a result in the form that hooks of Claude Code read.
func response(c *call) json.RawMessage {
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
	raw, _ := json.Marshal(doc) // strings, numbers and booleans cannot fail
	return raw
}

// outputText is what the model reads of an output that a hook has replaced.
func outputText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// batchDone fires PostToolBatch when all calls of an answer have results. A hook that
// blocks ends the turn.
func (l *loop) batchDone(ctx context.Context, r *round) error {
	if !l.a.opt.Hooks.Registry.Has(hook.PostToolBatch) {
		return nil
	}
	in := hook.Input{Event: hook.PostToolBatch}
	for _, c := range r.calls {
		one := hook.ToolCall{Name: c.use.Name, Input: c.use.Input, UseID: c.use.ID}
		if c.call != nil {
			one.Response = response(c)
		}
		in.Calls = append(in.Calls, one)
	}
	out, entries := l.fireForContext(ctx, in)
	if out.Block != nil && l.turn.stopped == nil {
		l.turn.stopped = &event.Error{HookEvent: string(hook.PostToolBatch), Hook: out.Block.Hook, HookReason: out.Block.Text}
	}
	return l.write(ctx, entries...)
}

// notifyAsked tells hooks that a person is asked.
func (l *loop) notifyAsked(ctx context.Context, c *call) error {
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

// deferCall ends the run because a hook deferred a call. The approval request stays open and is
// asked again on resume.
func (l *loop) deferCall() (DriverState, bool, error) {
	res := l.turn.res
	l.countRun(&res)
	res.Reason, res.Text = event.ReasonDeferred, strings.Join(l.turn.text, "\n")
	res.Duration = l.a.opt.Clock().Sub(l.turn.began)
	return DriverState{Result: &res}, true, nil
}

// resumeDeferred judges a call anew that was put off in an earlier run.
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
	l.await(nil)
	return nil
}

// reasonDefer is the reason of a question about a call that a hook has put off.
const reasonDefer = "hook-defer"

// touches say what requests are about, for the decision's record.
func touches(reqs []policy.Request) []policy.Target {
	list := make([]policy.Target, len(reqs))
	for i, r := range reqs {
		list[i] = policy.Target{Operation: r.Operation, Resource: r.Resource}
	}
	return list
}
