package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// continuePrompt asks the model for the rest of an answer that the output limit cut off.
const continuePrompt = "Please continue from where you left off."

// maxContinues is how many times in a row continuePrompt is sent.
const maxContinues = 3

// callModel makes one model call and records the answer.
func (l *loop) callModel(ctx context.Context) (DriverState, bool, error) {
	if err := l.refreshHead(); err != nil {
		return DriverState{}, false, err
	}
	began := l.a.opt.Clock()
	answer, mark, err := l.answer(ctx)
	l.turn.res.ModelDuration += l.a.opt.Clock().Sub(began)
	if errors.Is(err, ErrBudget) {
		return l.finish(ctx, event.ReasonBudget, nil)
	}
	if err != nil {
		if again, failed := l.compactTooLong(ctx, err); again || failed != nil {
			return DriverState{}, false, failed
		}
		return l.endFailedCall(ctx, err)
	}
	l.turn.fresh, l.turn.compactedTooLong = false, false
	whole, err := l.stamp(l.uniqueUses(answer)).Encode()
	if err != nil {
		return l.finish(ctx, event.ReasonFailed, err)
	}
	e, err := l.a.mask(whole)
	if err != nil {
		return l.finish(ctx, event.ReasonFailed, err)
	}
	uses := whole.Uses() // tools get the input without masking
	if text := answer.Text(); text != "" {
		l.turn.text = append(l.turn.text, text)
	}
	l.turn.res.Finish = answer.Finish
	entries := []entry{itemEntry(e, &mark)}
	l.turn.res.Turns++
	if p := l.takeUsage(); p != nil {
		if err := l.a.recordAnswer(ctx, p); err != nil {
			return DriverState{}, false, err
		}
		l.lastUsage = p.usage
		entries[0].draft, entries[0].event = entries[0].draft.Costing(p.cost), l.usageOf(p)
	}
	if len(uses) > 0 {
		l.turn.cutOff = 0
		l.openRound(uses)
		if l.a.opt.Hooks.Registry.Outside(hook.PreToolUse) { // command and HTTP hooks see only recorded calls
			return DriverState{}, false, l.write(ctx, entries...)
		}
		more, err := l.plan(ctx)
		if err != nil {
			return DriverState{}, false, err
		}
		return DriverState{}, false, l.write(ctx, append(entries, more...)...)
	}
	switch {
	case answer.Finish == transcript.FinishMaxTokens && l.turn.cutOff < maxContinues:
		l.turn.cutOff++
		u, err := l.item(transcript.UserText(continuePrompt))
		if err != nil {
			return DriverState{}, false, err
		}
		return DriverState{}, false, l.write(ctx, append(entries, itemEntry(u, nil))...)
	case answer.Finish == transcript.FinishRefusal:
		if err := l.write(ctx, entries...); err != nil {
			return DriverState{}, false, err
		}
		return l.finish(ctx, event.ReasonRefused, &model.Error{
			Kind: model.ErrorRefused, Provider: l.encoder().m.Info().Provider,
			Message: "the provider refused the request",
		})
	}
	if err := l.write(ctx, entries...); err != nil {
		return DriverState{}, false, err
	}
	if took, err := l.admitQueued(ctx); took || err != nil || l.turn.continues {
		return DriverState{}, false, err
	}
	return l.finish(ctx, event.ReasonCompleted, nil)
}

// admitQueued admits input that was queued while the turn was running.
func (l *loop) admitQueued(ctx context.Context) (bool, error) {
	var entries []entry
	items := l.takeQueue()
	if len(items) == 0 {
		return false, nil
	}
	if err := l.limitTools(ctx, l.turn.id, items, nil); err != nil {
		return false, err
	}
	for _, e := range items {
		entries = append(entries, itemEntry(e, nil))
	}
	return true, l.write(ctx, entries...)
}

func (l *loop) refreshHead() error {
	l.a.mu.Lock()
	tools, changed := l.a.tools, l.a.toolsNew
	l.a.toolsNew = false
	l.a.mu.Unlock()
	if l.head != nil && l.head.tools == tools {
		return nil
	}
	o, err := newRequestHead(l.a.opt.System, tools)
	if err != nil {
		return fmt.Errorf("agent: tool schemas: %w", err)
	}
	l.head = o
	if changed {
		l.publish(event.ToolsChanged{Tools: o.names()})
	}
	return nil
}

// announceTools tells the model which tools were added or removed since its last answer, so that it
// can change its plan.
func (l *loop) announceTools() {
	l.a.mu.Lock()
	tools, changed := l.a.tools, l.a.toolsNew
	l.a.mu.Unlock()
	if !changed || l.head == nil || l.head.tools == tools || l.announced == tools {
		return
	}
	l.announced = tools
	names := func(r *tool.Registry) (list []string) {
		for _, t := range r.Tools() {
			list = append(list, t.Spec().Name)
		}
		return list
	}
	before, now := names(l.head.tools), names(tools)
	without := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(other, name) })
	}
	if came := without(now, before); len(came) > 0 {
		l.hookTexts = append(l.hookTexts, "These tools are now available: "+strings.Join(came, ", "))
	}
	if gone := without(before, now); len(gone) > 0 {
		l.hookTexts = append(l.hookTexts, "These tools are no longer available: "+strings.Join(gone, ", "))
	}
}

func (l *loop) encoder() *encoder {
	if l.turn != nil && l.turn.fellBack {
		return l.fallback
	}
	if l.turn != nil && l.commandModel != nil {
		return l.commandModel
	}
	return l.primary
}

// answer calls the model, with retries. If the model stays unavailable, it calls the fallback
// model.
func (l *loop) answer(ctx context.Context) (transcript.Item, record.RequestMark, error) {
	for {
		it, mark, err := l.answerFrom(ctx, l.encoder())
		if err == nil || ctx.Err() != nil || l.turn.fellBack || l.fallback == nil || !fallsBack(err) {
			return it, mark, err
		}
		from, to := l.encoder().m.Info().String(), l.fallback.m.Info().String()
		l.turn.fellBack = true
		l.publish(event.ModelSwitched{From: from, To: to, Err: err})
		if err := l.firePostModelSwitch(ctx, from, to); err != nil {
			return it, mark, err
		}
	}
}

// fallsBack reports whether another model could succeed after this error.
func fallsBack(err error) bool {
	me, ok := errors.AsType[*model.Error](err)
	return ok && (me.Unavailable() || me.Kind == model.ErrorNotFound)
}

func (l *loop) answerFrom(ctx context.Context, enc *encoder) (transcript.Item, record.RequestMark, error) {
	if err := enc.encode(l.t.Items()); err != nil {
		return transcript.Item{}, record.RequestMark{}, err
	}
	marked := enc.mark(l.head.digest, l.mark)
	l.mark = nil
	it, err := l.sendWithRetry(ctx, enc)
	mark, same := marked()
	if !same {
		l.publish(event.Notice{Text: "the system prompt or the tools changed since the restart, so the provider cannot use its prompt cache for this transcript"})
	}
	return it, mark, err
}

// sendWithRetry sends the request and retries after retryable errors.
func (l *loop) sendWithRetry(ctx context.Context, enc *encoder) (transcript.Item, error) {
	req := &model.Request{
		System: l.head.system, Tools: l.head.specs, Messages: enc.wires,
		MaxTokens: l.a.opt.Model.MaxTokens, Effort: l.a.opt.Model.Effort,
	}
	for attempt := 0; ; attempt++ {
		info, began := enc.m.Info(), l.a.opt.Clock()
		l.publish(event.ModelStarted{Provider: info.Provider, Model: info.Model, Attempt: attempt})
		it, err := l.stream(ctx, enc.m, req)
		finished := event.ModelFinished{
			Provider: info.Provider, Model: info.Model, Usage: it.Usage, Finish: it.Finish,
			Duration: l.a.opt.Clock().Sub(began), Err: err,
		}
		if p := l.turn.unrecorded; p != nil {
			finished.Usage = &p.usage
		}
		l.publish(finished)
		if err == nil {
			return it, nil
		}
		if failed := l.recordFailedCall(ctx); failed != nil {
			return it, failed
		}
		if !l.waitRetry(ctx, err, attempt) {
			return it, err
		}
	}
}

// recordFailedCall records the usage of a failed model call.
func (l *loop) recordFailedCall(ctx context.Context) error {
	p := l.takeUsage()
	l.emitUsage(p)
	return l.a.recordUsage(ctx, p, forAttempt)
}

// waitRetry waits before the next attempt. It returns false if there must be none.
func (l *loop) waitRetry(ctx context.Context, err error, attempt int) bool {
	me, ok := errors.AsType[*model.Error](err)
	if !ok || !me.Retryable() || attempt >= l.a.opt.Model.Retry.Max || ctx.Err() != nil {
		return false
	}
	if me.RetryAfter > l.a.opt.Model.Retry.After {
		l.publish(event.Notice{Text: longWaitNotice(me, l.a.opt.Model.Retry.After)})
		return false
	}
	delay := l.a.opt.Model.Retry.delay(attempt, me.RetryAfter, l.a.opt.Rand())
	l.publish(event.ModelRetrying{Err: err, Attempt: attempt + 1, Delay: delay})
	return l.a.opt.Sleep(ctx, delay) == nil
}

// longWaitNotice returns the notice for a provider that asks for a longer wait than the limit.
func longWaitNotice(e *model.Error, limit time.Duration) string {
	return fmt.Sprintf("%s asks for a retry after %v, which is more than the maximum of %v; hint: raise retry.maxRetryAfter in the settings", e.Provider, e.RetryAfter, limit)
}

// delay returns Base·2ⁿ ± 25 %, at most Cap, or the wait that the provider asked for if that is
// longer.
func (r Retry) delay(attempt int, asked time.Duration, rnd float64) time.Duration {
	d := r.Base << min(attempt, 30)
	if d > r.Cap || d <= 0 {
		d = r.Cap
	}
	d = time.Duration(float64(d) * (0.75 + rnd/2))
	return max(min(d, r.Cap), asked)
}

// stream makes one attempt and emits the deltas. It stores the usage in the turn.
func (l *loop) stream(ctx context.Context, m model.Model, req *model.Request) (transcript.Item, error) {
	answer, paid, err := l.a.attempt(ctx, m, req, false, func(ev model.Event) {
		if e, ok := ev.(event.Event); ok {
			l.publish(e)
		}
	})
	l.turn.unrecorded = paid
	if err != nil {
		return transcript.Item{}, err
	}
	l.turn.continues = answer.More
	it := answer.Item
	it.Role = transcript.RoleAssistant
	if it.Model == "" {
		it.Model = m.Info().Model
	}
	return it, nil
}

// endFailedCall ends a turn whose model call failed or was interrupted. Text that arrived before
// the end is kept and marked.
func (l *loop) endFailedCall(ctx context.Context, err error) (DriverState, bool, error) {
	me, _ := errors.AsType[*model.Error](err)
	if me != nil && me.Partial != nil && len(me.Partial.Parts) > 0 {
		it := *me.Partial
		it.Role, it.Finish, it.Native = transcript.RoleAssistant, transcript.FinishError, nil
		if it.Model == "" {
			it.Model = l.encoder().m.Info().Model
		}
		it.Metadata = maps.Clone(it.Metadata)
		if it.Metadata == nil {
			it.Metadata = map[string]json.RawMessage{}
		}
		it.Metadata["interrupted"] = json.RawMessage("true")
		if ctx.Err() != nil {
			it.Finish = transcript.FinishCancelled
		}
		e, encErr := l.item(it)
		if encErr != nil {
			return DriverState{}, false, encErr
		}
		if text := it.Text(); text != "" {
			l.turn.text = append(l.turn.text, text)
		}
		if err := l.write(ctx, itemEntry(e, nil)); err != nil {
			return DriverState{}, false, err
		}
	}
	if ctx.Err() != nil {
		return l.finish(ctx, event.ReasonInterrupted, nil)
	}
	return l.fail(ctx, err)
}

// takeUsage returns the usage of the last model call, which the caller records.
func (l *loop) takeUsage() *callUsage {
	p := l.turn.unrecorded
	l.turn.unrecorded = nil
	return p
}

// emitUsage emits the usage of a model call; nil does nothing.
func (l *loop) emitUsage(p *callUsage) {
	if p != nil {
		l.publish(l.usageOf(p))
	}
}

func (l *loop) usageOf(p *callUsage) event.UsageUpdated {
	var r event.Result
	l.a.total.setUsage(&r)
	if l.turn != nil {
		l.countRun(&l.turn.res)
	}
	return event.UsageUpdated{Model: p.model, Usage: p.usage, Total: r.Usage, CostUSD: r.CostUSD, CallUSD: p.cost}
}

// reserveID prevents newID and uniqueUses from using an id a second time.
func (l *loop) reserveID(id string) {
	if l.used == nil {
		l.used = map[string]bool{}
	}
	l.used[id] = true
}

// newID returns an id that is not in the log.
func (l *loop) newID(prefix string) string {
	made := prefix + l.a.opt.NewID()
	id := made
	for n := 2; l.used[id] || l.t.Answered(id); n++ {
		id = fmt.Sprintf("%s-%d", made, n)
	}
	return id
}

// uniqueUses gives new ids to tool uses that have no id or an id that is already in the log, also
// in items that compaction removed. Small local models number their calls from zero in every
// answer.
func (l *loop) uniqueUses(it transcript.Item) transcript.Item {
	seen := map[string]bool{}
	renamed := false
	parts := make([]transcript.Part, len(it.Parts))
	for i, p := range it.Parts {
		if u, ok := p.(transcript.ToolUse); ok {
			if u.ID == "" || seen[u.ID] || l.used[u.ID] || l.t.Answered(u.ID) {
				from := u.ID
				u.ID = l.newID("call_")
				if r, ok := l.encoder().m.(useRenamer); ok {
					r.RenameUse(from, u.ID)
				}
				renamed = true
			}
			seen[u.ID] = true
			p = u
		}
		parts[i] = p
	}
	if renamed {
		it.Parts, it.Native = parts, nil // the native form contains the old ids
	}
	return it
}

// useRenamer is a model that runs tool calls itself. RenameUse is called when a tool use of the
// answer gets another id, because the session already has a tool use with that id.
type useRenamer interface {
	RenameUse(from, to string)
}
