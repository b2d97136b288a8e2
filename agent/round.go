package agent

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxParallel is the maximum number of read-only calls that run in parallel.
const maxParallel = 10

// round is the state of the tool calls of one answer. Calls run in order: consecutive read-only
// calls run in parallel, and every other call runs alone.
type round struct {
	calls   []*call
	at      int           // the first call without a result
	ready   []*call       // the next calls, starting with index at; they are recorded as started and will run
	asked   *call         // the call that waits for approval: calls[at] or a nested request
	running *runningCalls // the running calls among the calls in ready
	stop    bool          // a denial also stops the turn
}

// call is the state of one tool call.
type call struct {
	use              transcript.ToolUse
	tool             tool.Tool
	call             *tool.Call // the call as it runs; its input may differ from the input of the tool use
	requests         []policy.Request
	decision         policy.Decision
	judged           policyVersion
	approval         *approval.Request // the open approval request
	fromLog          bool              // restored from the log after a restart
	announced        bool              // the approval request was emitted
	note             string            // the approver's note for the model
	notified         bool              // hooks were notified of the approval request
	hooks            hookResults
	nested           *nestedRequest // set if this is a nested request and not a tool call
	result           tool.Result
	took             time.Duration
	detached         bool   // the call continues in the background, as the text in result explains
	onNoticeRecorded func() // called when that result is recorded
}

func (l *loop) openRound(uses []transcript.ToolUse) {
	r := &round{}
	for _, u := range uses {
		r.calls = append(r.calls, &call{use: u})
	}
	l.a.mu.Lock()
	l.round = r
	l.a.mu.Unlock()
}

func (r *round) approvals() []approval.Request {
	if r.asked == nil {
		return nil
	}
	return []approval.Request{*r.asked.approval}
}

// plan decides about the next calls until a call can run or needs approval. It returns the records
// to write before the call runs or waits. It first applies the policy changes that other programs
// have recorded.
func (l *loop) plan(ctx context.Context) ([]entry, error) {
	r := l.round
	if r.at == len(r.calls) {
		return nil, nil
	}
	if err := l.a.shared.readNew(ctx); err != nil {
		return nil, err
	}
	l.emitChanges()
	var entries []entry
	for r.at < len(r.calls) && !r.stop {
		c := r.calls[r.at]
		if c.approval != nil { // from before a restart
			l.setAsked(c)
			return entries, nil
		}
		more, done, err := l.planCall(ctx, c)
		entries = append(entries, more...)
		if done || err != nil {
			return entries, err
		}
	}
	return entries, nil
}

// planCall decides how to continue with the next call. The result done is true if the call can run
// or waits for an answer.
func (l *loop) planCall(ctx context.Context, c *call) (entries []entry, done bool, err error) {
	if refusal, ok := l.lookup(c); !ok {
		entries, err = l.refuse(c, refusal, false)
		return entries, false, err
	}
	if err := l.firePreToolUse(ctx, c); err != nil {
		entries, err = l.refuse(c, err.Error(), false)
		return entries, false, err
	}
	if err := l.judge(ctx, c); err != nil {
		entries, err = l.refuse(c, err.Error(), false)
		return entries, false, err
	}
	if err := l.firePermissionRequest(ctx, c); err != nil {
		entries, err = l.refuse(c, err.Error(), false)
		return entries, false, err
	}
	if ctx.Err() != nil { // hook results after an interrupt may be a consequence of the interrupt
		return nil, true, nil //nolint:nilerr // the turn ends with the interrupt
	}
	if c.decision.Effect == policy.Ask && !l.alone {
		if why := c.wouldFail(); why != nil { // do not ask about a call that fails anyway
			entries, err = l.refuse(c, why.Error(), false)
			return entries, false, err
		}
	}
	switch d := &c.decision; {
	case d.Effect == policy.Ask && c.voidReason() != "":
		entries, err = l.refuse(c, "not run: "+c.voidReason(), false)
		return entries, false, err
	case d.Effect == policy.Allow:
		entries, err = l.startReady(ctx, c)
		return entries, true, err
	case d.Effect == policy.Ask && c.hooks.defers && len(l.round.calls) == 1:
		d.AskReason = reasonDefer
		entries, err = l.requestApproval(c)
		return entries, true, err
	case d.Effect == policy.Ask && !l.alone:
		entries, err = l.requestApproval(c)
		return entries, true, err
	case d.Effect == policy.Ask:
		d.Effect, d.By = policy.Deny, byNobody
	}
	more := l.firePermissionDenied(ctx, c, &c.decision)
	entries, err = l.refuse(c, c.refusalOf(c.decision, refusal(c.decision))+more, true)
	l.round.stop = c.decision.Stop
	return entries, false, err
}

// wouldFail returns why the call would fail even if it was approved, or nil.
func (c *call) wouldFail() error {
	if t, ok := c.tool.(toolext.Checker); ok {
		return t.Check(c.call)
	}
	return nil
}

// lookup finds the call's tool. If the tool is unknown, lookup returns the text of the result.
func (l *loop) lookup(c *call) (refusal string, ok bool) {
	if c.call == nil {
		c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input}
	}
	if l.head.tools != nil {
		c.tool, ok = l.head.tools.Lookup(c.use.Name)
	}
	if !ok {
		return "tool not found: " + c.use.Name, false
	}
	if l.a.inputErased(c) {
		return "not run: " + maskedReason, false
	}
	return "", true
}

// startReady starts c and, if it is read-only, the read-only calls after it that are also allowed.
func (l *loop) startReady(ctx context.Context, c *call) ([]entry, error) {
	r := l.round
	r.ready = []*call{c}
	if c.tool.Spec().ReadOnly {
		for _, next := range r.calls[r.at+1:] {
			if len(r.ready) == maxParallel || next.approval != nil {
				break
			}
			if _, ok := l.lookup(next); !ok || !next.tool.Spec().ReadOnly {
				break
			}
			if l.firePreToolUse(ctx, next) != nil {
				break // planCall reports the error when this call is the next one
			}
			if err := l.judge(ctx, next); err != nil || next.decision.Effect != policy.Allow {
				break // planCall handles this call when it is the next one
			}
			r.ready = append(r.ready, next)
		}
	}
	var entries []entry
	for _, c := range r.ready {
		more, err := startEntries(c, c.decision, c.call)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	}
	return entries, nil
}

func startEntries(c *call, d policy.Decision, run *tool.Call) ([]entry, error) {
	decided, err := session.NewDraft(record.KindDecision, d)
	if err != nil {
		return nil, err
	}
	s := event.ToolStarted{Use: c.use.ID, Tool: c.use.Name}
	started, err := session.NewDraft(record.KindToolStarted, s)
	if err != nil {
		return nil, err
	}
	s.Input = run.Input
	return append(c.hooks.takeEntries(),
		entry{draft: decided, event: event.DecisionMade{Decision: d}},
		entry{draft: started, event: s},
	), nil
}

// refuse answers the call at r.at without running it.
func (l *loop) refuse(c *call, text string, decided bool) ([]entry, error) {
	entries := c.hooks.takeEntries()
	if decided {
		d, err := session.NewDraft(record.KindDecision, c.decision)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{draft: d, event: event.DecisionMade{Decision: c.decision}})
		l.turn.res.Denials = append(l.turn.res.Denials, c.decision)
	}
	c.result = tool.Failure(text)
	c.addContext()
	e, err := l.resultItem(c)
	if err != nil {
		return nil, err
	}
	l.round.at++
	return append(entries, itemEntry(e, nil)), nil
}

func (l *loop) resultItem(c *call) (transcript.Encoded, error) {
	return l.item(transcript.ToolResult{
		UseID: c.use.ID, Content: c.result.Content, IsError: c.result.IsError,
	}.Item())
}

// advanceRound runs the ready calls, returns an open approval request, or ends the round.
func (l *loop) advanceRound(ctx context.Context) (DriverState, bool, error) {
	r := l.round
	switch {
	case r.running != nil:
		return l.awaitCall(ctx)
	case ctx.Err() != nil:
		return l.abandon(ctx, "not run: the turn was interrupted first", event.ReasonInterrupted)
	case r.stop:
		return l.abandon(ctx, "not run: the turn was stopped", event.ReasonInterrupted)
	case r.asked != nil:
		if err := l.announceApproval(r.asked); err != nil {
			return DriverState{}, false, err
		}
		if settled, err := l.pollAnswer(ctx); settled || err != nil {
			return DriverState{}, false, err
		}
		if why := r.asked.voidReason(); why != "" {
			return DriverState{}, false, l.withdrawVoid(ctx, why)
		}
		if r.asked.approval.Reason == reasonDefer {
			return l.deferCall()
		}
		return DriverState{Approvals: r.approvals()}, true, l.notifyApproval(ctx, r.asked)
	}
	if l.turn.stopped != nil && len(r.ready) == 0 && r.at < len(r.calls) {
		return l.abandonBy(ctx, "not run: a hook ended the turn", event.ReasonHook, l.turn.stopped)
	}
	if over, reason := l.overLimit(); over && reason == event.ReasonBudget && len(r.ready) == 0 {
		return l.abandon(ctx, "not run: the budget of this run is used up", reason)
	}
	if len(r.ready) == 0 && r.at < len(r.calls) {
		if l.head == nil { // the round began before a restart
			if err := l.refreshHead(); err != nil {
				return DriverState{}, false, err
			}
		}
		entries, err := l.plan(ctx)
		if err != nil {
			return DriverState{}, false, err
		}
		return DriverState{}, false, l.write(ctx, entries...)
	}
	if len(r.ready) > 0 {
		r.running = l.startCalls(ctx, r.ready)
		return DriverState{}, false, nil
	}
	return l.closeRound(ctx)
}

// nextCalls records the calls that have run and starts the next ones.
func (l *loop) nextCalls(ctx context.Context) (DriverState, bool, error) {
	entries, err := l.finishReady(ctx)
	if err != nil {
		return DriverState{}, false, err
	}
	if ctx.Err() == nil && !l.a.opt.Hooks.Registry.Outside(hook.PreToolUse) && l.turn.stopped == nil {
		more, err := l.plan(ctx)
		if err != nil {
			return DriverState{}, false, err
		}
		entries = append(entries, more...)
	}
	if err := l.write(ctx, entries...); err != nil {
		return DriverState{}, false, err
	}
	return l.closeRound(ctx)
}

// closeRound ends the round when all calls have results.
func (l *loop) closeRound(ctx context.Context) (DriverState, bool, error) {
	if r := l.round; r.at < len(r.calls) || r.stop {
		return DriverState{}, false, nil
	}
	if err := l.firePostToolBatch(ctx, l.round); err != nil {
		return DriverState{}, false, err
	}
	l.a.mu.Lock()
	l.round = nil
	l.a.mu.Unlock()
	if _, err := l.admitQueued(ctx); err != nil {
		return DriverState{}, false, err
	}
	return DriverState{}, true, nil
}

// abandon gives this text as a result to every call that has no result, and ends the turn. A call
// that was recorded as started but did not run gets [record.OutcomeNotRun].
func (l *loop) abandon(ctx context.Context, text string, why event.Reason) (DriverState, bool, error) {
	return l.abandonBy(ctx, text, why, nil)
}

func (l *loop) abandonBy(ctx context.Context, text string, why event.Reason, cause error) (DriverState, bool, error) {
	r := l.round
	if r.asked != nil {
		if err := l.cancelApproval(ctx); err != nil {
			return DriverState{}, false, err
		}
	}
	var entries []entry
	for _, c := range r.ready {
		ended, err := endEntry(event.ToolFinished{Use: c.use.ID, Tool: c.use.Name, IsError: true, Outcome: record.OutcomeNotRun})
		if err != nil {
			return DriverState{}, false, err
		}
		entries = append(entries, ended)
	}
	r.ready = nil
	for r.at < len(r.calls) {
		c := r.calls[r.at]
		if c.approval != nil { // from before a restart, after other calls
			if err := l.write(ctx, entries...); err != nil {
				return DriverState{}, false, err
			}
			entries = nil
			l.setAsked(c)
			if err := l.cancelApproval(ctx); err != nil {
				return DriverState{}, false, err
			}
			continue
		}
		more, err := l.refuse(c, text, false)
		if err != nil {
			return DriverState{}, false, err
		}
		entries = append(entries, more...)
	}
	if err := l.write(ctx, entries...); err != nil {
		return DriverState{}, false, err
	}
	return l.finish(ctx, why, cause)
}

// finishReady returns the records for the results of the ready calls, in call order, with the texts
// of hooks.
func (l *loop) finishReady(ctx context.Context) ([]entry, error) {
	r := l.round
	var entries []entry
	for _, c := range r.ready {
		if c.detached {
			c.addContext()
		} else {
			entries = append(entries, l.firePostToolUse(ctx, c)...)
		}
		if c.note != "" {
			c.result.Content = append(slices.Clip(c.result.Content), transcript.Text{Text: "note from the approver: " + c.note})
		}
		e, err := l.resultItem(c)
		if err != nil {
			return nil, err
		}
		if !c.detached {
			ended, err := endEntry(c.finishedEvent())
			if err != nil {
				return nil, err
			}
			entries = append(entries, ended)
		}
		result := itemEntry(e, nil)
		result.after = c.onNoticeRecorded
		entries = append(entries, result)
		r.at++
	}
	r.ready = nil
	return entries, nil
}

func (c *call) finishedEvent() event.ToolFinished {
	r := &c.result
	return event.ToolFinished{
		Use: c.use.ID, Tool: c.use.Name, Content: r.Content, IsError: r.IsError, Millis: c.took.Milliseconds(),
		ExitCode: r.ExitCode, Notes: r.Notes, Changes: r.Changes, FilesShown: r.FilesShown, Cwd: r.Cwd,
	}
}

func endEntry(e event.ToolFinished) (entry, error) {
	d, err := session.NewDraft(record.KindToolFinished, e)
	return entry{draft: d, event: e}, err
}
