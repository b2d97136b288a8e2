package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// loop is the state of one agent. Only the holder of Agent.running uses it. Fields that Snapshot
// reads change under Agent.mu.
type loop struct {
	a       *Agent
	emit    func(event.Event)
	emitted bool // SessionOpened was emitted
	// alone means that no one can answer: there is no approver, and no host with a Driver.
	alone bool

	repair *event.TranscriptRewritten // the repair when the session was opened, emitted after SessionOpened; nil if there was none

	log    *session.Log // nil without a store
	runLog *session.Log // the log of the run; for a sub-agent, this is not its own log
	opened event.SessionOpened
	t      *transcript.Transcript
	used   map[string]bool     // ids that are in the log but not in the transcript; see [session.State]
	mark   *record.RequestMark // the digest of the last request before the restart; removed once it was compared
	broken error               // the error that stopped the agent

	primary, fallback *encoder
	commandModel      *encoder // the encoder for the model that a slash command selected for the current turn, or nil
	head              *requestHead
	turns             int              // turns opened so far in the session
	lastUsage         transcript.Usage // usage of the last model call; zero after a rewrite
	overhead          int              // tokens of a request that are not from its items, since the last rewrite

	announced  *tool.Registry      // the tools whose changes the model was told about
	hookTexts  []string            // texts of hooks, for the model to read next
	planned    planTracker         // whether the model knows that plan mode is on
	instructed instructionsTracker // which instructions the model has read
	carried    []policy.Limit      // limits of an earlier turn that did not complete
	initial    string              // input from a SessionStart hook, used if there is no other input
	ended      *event.Error        // a hook ended the next turn before its start

	saves fileSnapshots
	turn  *turn  // the open turn, or nil
	round *round // the open tool round, or nil
}

// turn is one turn from its input to its end.
type turn struct {
	id         string
	began      time.Time
	fellBack   bool       // the fallback model answers
	fresh      bool       // no model call yet
	cutOff     int        // number of consecutive answers that reached the output limit
	continues  bool       // the model has more to send, even without new input
	unrecorded *callUsage // usage of the last model call, until it is recorded
	text       []string
	res        event.Result

	continued        int          // the number of times that hooks have kept the agent from stopping
	stopped          *event.Error // a hook ends the turn
	uncompacted      bool         // compaction was tried and must not be tried again in this turn
	compactedTooLong bool         // the transcript was compacted because the model rejected it as too long
}

func newLoop(a *Agent) *loop {
	l := &loop{a: a, t: &transcript.Transcript{}, emit: func(event.Event) {}}
	l.primary = newEncoder(a.model)
	if a.opt.Model.Fallback != nil {
		l.fallback = newEncoder(a.opt.Model.Fallback)
	}
	return l
}

func (l *loop) silence() { l.emit = func(event.Event) {} }

// publish passes an event to the observers and the listener.
func (l *loop) publish(e event.Event) {
	for _, o := range l.a.opt.LoopObservers {
		o.Observe(l.opened.ID, e)
	}
	l.emit(e)
}

func (l *loop) snapshotOf() Snapshot {
	s := Snapshot{Items: append([]transcript.Encoded(nil), l.t.Items()...)}
	if l.round != nil {
		s.Approvals = l.round.approvals()
	}
	return s
}

// begin opens a turn for Run, or adds the input to the open turn. A new turn starts with queued
// input and the given input. Without either, it starts with the initial message of a SessionStart
// hook, or with a transcript whose last item still needs an answer.
func (l *loop) begin(ctx context.Context, input []transcript.Part) error {
	if err := l.resumeDeferred(ctx); err != nil {
		return err
	}
	if l.turn != nil {
		return l.admitNow(ctx, input)
	}
	items := l.takeQueue()
	if len(input) == 0 && len(items) == 0 && l.initial != "" {
		input = []transcript.Part{transcript.Text{Text: l.initial}}
	}
	l.initial = ""
	if len(input) > 0 {
		admitted, err := l.a.admit(ctx, input)
		if err != nil {
			l.requeue(items)
			return err
		}
		items = append(items, admitted...)
	}
	if len(items) == 0 && !l.t.Dispatchable() {
		return ErrNoInput
	}
	return l.openTurn(ctx, items)
}

// requeue puts items back at the front of the queue.
func (l *loop) requeue(items []transcript.Encoded) {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	l.a.queue = append(items, l.a.queue...)
}

// admitNow adds Run's input to a turn that is still open because of a Driver or a suspended
// approval request. The turn reads the input after the tool round.
func (l *loop) admitNow(ctx context.Context, input []transcript.Part) error {
	if len(input) == 0 {
		return nil
	}
	return l.a.enqueue(ctx, input, true)
}

func (l *loop) takeQueue() []transcript.Encoded {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	q := l.a.queue
	l.a.queue = nil
	return q
}

// openTurn opens a turn with items. After an error the loop cannot continue. Queued items are
// already durable, and the next agent of the session reads them.
func (l *loop) openTurn(ctx context.Context, items []transcript.Encoded) error {
	err := l.enterTurn(ctx, items)
	if err != nil && l.broken == nil {
		l.broken = err
	}
	return err
}

func (l *loop) enterTurn(ctx context.Context, items []transcript.Encoded) error {
	l.turns++
	id := turnID(l.turns)
	if err := l.limitTools(ctx, id, items, l.carried); err != nil {
		return err
	}
	began := record.TurnOpened{Turn: id, Cwd: l.a.changedCwd()}
	if l.a.opt.parent == nil && l.log == l.a.shared.runLog() {
		began.Budget = l.a.budget.unrecorded()
	}
	opened, err := session.NewDraft(record.KindTurnOpened, began)
	if err != nil {
		return err
	}
	t := l.newTurn(id)
	t.fresh = true
	l.a.mu.Lock()
	l.turn = t
	l.a.mu.Unlock()
	entries := []entry{{draft: opened, event: event.TurnStarted{Turn: id}, after: func() { l.a.budget.setRecorded(began.Budget) }}}
	l.gather()
	texts, ok, err := l.a.hookTextItem(l.hookTexts)
	if err != nil {
		return err
	}
	if l.hookTexts = nil; ok {
		items = append([]transcript.Encoded{texts}, items...)
	}
	if plan, ok, err := l.planItem(); err != nil {
		return err
	} else if ok {
		items = append([]transcript.Encoded{plan}, items...)
	}
	known, again, err := l.instructionItems()
	if err != nil {
		return err
	}
	if items = append(known, items...); again {
		entries = append(l.fireInstructionsLoaded(ctx, "compact"), entries...)
	}
	for _, e := range items {
		entries = append(entries, itemEntry(e, nil))
	}
	if err := l.write(ctx, append(l.openingRecords(), entries...)...); err != nil {
		return err
	}
	l.emitPending()
	return nil
}

// openingRecords returns the records before the first turn.
func (l *loop) openingRecords() (entries []entry) {
	for _, d := range l.a.opt.NewSession {
		entries = append(entries, entry{draft: d, after: func() { l.a.opt.NewSession = nil }})
	}
	return entries
}

func (l *loop) newTurn(id string) *turn {
	t := &turn{
		id: id, began: l.a.opt.Clock(), stopped: l.ended,
		res: event.Result{SessionID: l.opened.ID, Turn: id, ByModel: map[string]event.ModelUsage{}},
	}
	l.ended = nil
	l.a.mu.Lock()
	before := l.a.previous
	l.a.mu.Unlock()
	if before == nil {
		l.a.total.reset()
		return t
	}
	t.began = t.began.Add(-before.Duration)
	t.res.Turns, t.res.ModelDuration, t.res.Denials = before.Turns, before.ModelDuration, slices.Clone(before.Denials)
	return t
}

// next is the state machine behind Run and Driver.Next.
func (l *loop) next(ctx context.Context) (DriverState, error) {
	ctx, done := l.a.interruptible(ctx)
	defer done()
	for {
		if l.turn == nil {
			q := l.takeQueue()
			if len(q) == 0 {
				return DriverState{AwaitingInput: true}, nil
			}
			if err := l.openTurn(ctx, q); err != nil {
				return DriverState{}, err
			}
		}
		step, done, err := l.advance(ctx)
		if err != nil && errors.Is(err, l.a.suspendedBy()) {
			return DriverState{}, err // suspended sub-agents continue when the loop continues
		}
		if err != nil {
			l.broken = err
			_ = l.halt(ctx) // err is returned
			return DriverState{}, err
		}
		if done {
			step.Turn = step.turnID(l)
			return step, nil
		}
	}
}

func (s DriverState) turnID(l *loop) string {
	if s.Result != nil {
		return s.Result.Turn
	}
	if l.turn != nil {
		return l.turn.id
	}
	return ""
}

// advance does the next part of an open turn, which is a part of the tool round or a model call. If
// the result done is true, next must return the result step.
func (l *loop) advance(ctx context.Context) (step DriverState, done bool, err error) {
	if l.round != nil {
		return l.advanceRound(ctx)
	}
	if ctx.Err() != nil {
		return l.finish(ctx, event.ReasonInterrupted, nil)
	}
	if l.gather(); l.turn.stopped != nil {
		return l.stopTurn(ctx)
	}
	if over, reason := l.overLimit(); over {
		return l.finish(ctx, reason, nil)
	}
	if err := l.mutate(ctx); err != nil {
		if ctx.Err() != nil {
			return l.finish(ctx, event.ReasonInterrupted, nil)
		}
		return l.finish(ctx, event.ReasonFailed, err)
	}
	if over, reason := l.overLimit(); over { // the model calls of a mutator use the budget
		return l.finish(ctx, reason, nil)
	}
	if _, err := l.admitQueued(ctx); err != nil { // input may have been queued after the round, while a host was deciding or a mutator was running
		return DriverState{}, false, err
	}
	if err := l.takeHookTexts(ctx); err != nil {
		return DriverState{}, false, err
	}
	if err := l.remind(ctx); err != nil {
		return DriverState{}, false, err
	}
	if err := l.instruct(ctx); err != nil {
		return DriverState{}, false, err
	}
	if !l.t.Dispatchable() && !l.turn.continues {
		// A mutator may have removed the item that needed an answer.
		return l.finish(ctx, event.ReasonCompleted, nil)
	}
	return l.callModel(ctx)
}

func (l *loop) overLimit() (bool, event.Reason) {
	o, r := &l.a.opt, &l.turn.res
	switch {
	case o.Limits.MaxTurns > 0 && r.Turns >= o.Limits.MaxTurns:
		return true, event.ReasonMaxTurns
	case l.a.budget.exhausted():
		return true, event.ReasonBudget
	}
	return false, ""
}

// finish closes the turn, unless hooks continue it. The caller has answered all open tool calls.
func (l *loop) finish(ctx context.Context, why event.Reason, cause error) (DriverState, bool, error) {
	t := l.turn
	if why == event.ReasonCompleted && l.a.opt.parent == nil && l.a.budget.exceeded() {
		why = event.ReasonBudget
	}
	if keepsGoing, err := l.fireStop(ctx, why, cause); keepsGoing || err != nil {
		return DriverState{}, false, err
	}
	if why == event.ReasonCompleted && t.stopped != nil {
		why, cause = event.ReasonHook, t.stopped
	}
	l.emitPending()
	l.countRun(&t.res)
	closed := record.TurnClosed{Turn: t.id, Reason: string(why), Cost: l.a.total.takeCost()}
	if cause != nil {
		closed.Error = cause.Error()
	}
	d, err := session.NewDraft(record.KindTurnClosed, closed)
	if err != nil {
		return DriverState{}, false, err
	}
	if err := l.write(ctx, entry{draft: d, event: event.TurnFinished{Turn: t.id, Reason: why, Err: cause}}); err != nil {
		return DriverState{}, false, err
	}
	l.a.mu.Lock()
	l.turn, l.round, l.a.asking = nil, nil, false
	l.a.mu.Unlock()
	l.endLimits(t.id, why)
	res := t.res
	res.Reason, res.Err = why, cause
	res.Text = strings.Join(t.text, "\n")
	res.Duration = l.a.opt.Clock().Sub(t.began)
	return DriverState{Result: &res}, true, nil
}

// countRun sets the usage of the turn, and the cost and budget of the run, in r.
func (l *loop) countRun(r *event.Result) {
	l.a.total.setUsage(r)
	usd, limit := l.a.budget.spent()
	r.RunCostUSD, r.BudgetUSD = usd, limit.USD
}

// fail closes the turn after a failed model call.
func (l *loop) fail(ctx context.Context, err error) (DriverState, bool, error) {
	var me *model.Error
	if errors.As(err, &me) && me.Kind == model.ErrorRefused {
		return l.finish(ctx, event.ReasonRefused, err)
	}
	return l.finish(ctx, event.ReasonFailed, err)
}
