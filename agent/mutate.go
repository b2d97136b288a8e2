package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// mutate lets the mutators rewrite the transcript. The loop detects whether anything changed, checks
// the result, records it and emits an event.
func (l *loop) mutate(ctx context.Context) error {
	turnEnded := l.turn.fresh
	for _, m := range l.mutators() {
		var err error
		if c, ok := m.(compactor); ok {
			err = l.compactWhenDue(ctx, c, turnEnded)
		} else {
			_, err = l.mutateBy(ctx, m, l.mutatorContext(turnEnded))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) mutatorContext(turnEnded bool) MutatorContext {
	return MutatorContext{
		TurnEnded: turnEnded, Items: l.t.Items(), Usage: l.lastUsage, Context: l.contextSize(),
		NewID: l.a.opt.NewID, Ask: l.askModel, overhead: l.overhead,
	}
}

// when returns the value of [event.TranscriptRewritten].When.
func (c MutatorContext) when() string {
	if c.TurnEnded {
		return "after_turn_ended"
	}
	return "after_tool_result"
}

// mutateBy lets one mutator rewrite the transcript, and reports whether it did.
func (l *loop) mutateBy(ctx context.Context, m Mutator, c MutatorContext) (bool, error) {
	items, err := m.Mutate(ctx, c)
	if err != nil {
		return false, fmt.Errorf("mutator %s: %w", m.Name(), err)
	}
	return l.applyRewrite(ctx, m, c, items)
}

// applyRewrite records the items that a mutator returned and emits an event, if the items differ
// from the transcript. It reports whether they do.
func (l *loop) applyRewrite(ctx context.Context, m Mutator, c MutatorContext, items []transcript.Encoded) (bool, error) {
	if items == nil || sameItems(c.Items, items) {
		return false, nil
	}
	if err := l.rewrite(ctx, m.Name(), items); err != nil {
		return false, fmt.Errorf("mutator %s: %w", m.Name(), err)
	}
	e := event.TranscriptRewritten{Mutator: m.Name(), When: c.when(), Before: len(c.Items), After: len(items)}
	if _, ok := m.(compactor); ok {
		e.Trigger, e.TokensBefore, e.TokensAfter = c.trigger, estimate(c), estimate(l.mutatorContext(c.TurnEnded))
	}
	l.publish(e)
	return true, nil
}

// compactWhenDue compacts the transcript if it has grown too large. If the compaction fails or a
// hook blocks it, the turn continues with the same transcript.
func (l *loop) compactWhenDue(ctx context.Context, c compactor, turnEnded bool) error {
	cur := l.mutatorContext(turnEnded)
	if l.turn.uncompacted || !c.due(cur) {
		return nil
	}
	did, err := l.tryCompact(ctx, c, cur)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if l.turn.uncompacted = !did; did && c.exceedsLimits(l.mutatorContext(turnEnded)) {
		l.turn.uncompacted = true
		l.publish(event.Notice{Text: "the compacted transcript is still over its limit; the next turn compacts it again"})
	}
	return nil
}

// tryCompact compacts while a turn is open, and reports whether it did. A failed or blocked
// compaction does not end the turn.
func (l *loop) tryCompact(ctx context.Context, c compactor, cur MutatorContext) (bool, error) {
	did, err := l.compact(ctx, c, cur, triggerAuto)
	blocked, ok := errors.AsType[*event.Error](err)
	switch {
	case ok && blocked.HookEvent != "":
		l.publish(event.Notice{Text: fmt.Sprintf("hook %s blocked compaction: %s", blocked.Hook, blocked.HookReason)})
		return false, nil
	case errors.Is(err, errNotCompacted) && ctx.Err() == nil:
		l.publish(event.Notice{Text: "cannot compact the transcript: " + err.Error()})
		return false, nil
	}
	return did, err
}

// compactTooLong compacts a transcript that the model rejected as too long, and reports whether to
// call the model again. It does this only once until the model answers.
func (l *loop) compactTooLong(ctx context.Context, cause error) (bool, error) {
	c := compactor{l.a.opt.Compact}
	if !tooLong(cause) || c.o.Disabled || l.turn.compactedTooLong || ctx.Err() != nil {
		return false, nil //nolint:nilerr // the caller reports the cause
	}
	l.turn.compactedTooLong = true
	l.publish(event.Notice{Text: "the transcript is too long for the model; compacting it"})
	did, err := l.tryCompact(ctx, c, l.mutatorContext(false))
	if ctx.Err() != nil {
		return false, nil //nolint:nilerr // the turn ends with the interrupt
	}
	return did, err
}

// errNotCompacted means that a compaction failed before anything was rewritten.
var errNotCompacted = errors.New("the transcript was not changed")

// compact compacts the transcript, and reports whether it changed.
func (l *loop) compact(ctx context.Context, c compactor, cur MutatorContext, trigger string) (bool, error) {
	if err := l.firePreCompact(ctx, trigger, cur.Instructions); err != nil {
		return false, err
	}
	cur.trigger = trigger
	l.publish(event.CompactionStarted{Trigger: trigger})
	items, err := c.Mutate(ctx, cur)
	if err != nil {
		return false, fmt.Errorf("%w (%w)", err, errNotCompacted)
	}
	did, err := l.applyRewrite(ctx, c, cur, items)
	if !did || err != nil {
		return false, err
	}
	return true, l.firePostCompact(ctx, trigger, summaryIn(items, cur.Items))
}

// summaryIn returns the text of the summary that a compaction added, or "".
func summaryIn(items, before []transcript.Encoded) string {
	for _, item := range items {
		if isFixed(item) {
			continue
		}
		if item.Role() == transcript.RoleContext && !slices.ContainsFunc(before, func(e transcript.Encoded) bool { return e.ID() == item.ID() }) {
			return item.Text()
		}
		break
	}
	return ""
}

// Compact compacts the transcript now, between turns, with the steps of [Options].Compact.
// instructions are for the model that summarizes, and may be "". Compact returns the number of
// items before and after. It returns ErrRunning while a turn is open, an *[event.Error] if a hook
// blocks it, and errors of the model and the store.
func (a *Agent) Compact(ctx context.Context, instructions string) (before, after int, err error) {
	if !a.running.TryLock() {
		return 0, 0, ErrRunning
	}
	defer a.running.Unlock()
	l, err := a.start(ctx, func(event.Event) {})
	if err != nil {
		return 0, 0, err
	}
	if l.turn != nil {
		return 0, 0, ErrRunning
	}
	ctx, done := a.interruptible(ctx)
	defer done()
	cur := l.mutatorContext(true)
	cur.Instructions = instructions
	_, err = l.compact(ctx, compactor{a.opt.Compact}, cur, triggerManual)
	return len(cur.Items), l.t.Len(), err
}

func sameItems(a, b []transcript.Encoded) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i].JSON, b[i].JSON) {
			return false
		}
	}
	return true
}

// rewrite replaces the transcript by writing one record.
func (l *loop) rewrite(ctx context.Context, by string, items []transcript.Encoded) error {
	t := &transcript.Transcript{}
	items, err := l.maskNew(items)
	if err == nil {
		err = t.Append(items...)
	}
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", err, errNotCompacted)
	}
	if l.log != nil {
		raw := make([]json.RawMessage, len(items))
		for i, e := range items {
			raw[i] = e.JSON
		}
		w := session.Rewrite{Reason: by, By: by, Items: raw, Messages: len(items)}
		ctx, kept := detachedContext(ctx)
		if err := kept(l.log.Rewrite(ctx, w)); err != nil {
			return err
		}
	}
	if l.lastUsage.Total() > 0 {
		was := l.mutatorContext(true)
		all := estimate(was)
		was.Usage, was.overhead = transcript.Usage{}, 0
		l.overhead = max(0, all-estimate(was))
	}
	for _, e := range l.t.Items() {
		for _, use := range e.UseIDs() {
			l.reserveID(use)
		}
	}
	l.a.mu.Lock()
	l.t = t
	l.a.mu.Unlock()
	l.primary.reset()
	l.fallback.reset()
	l.commandModel.reset()
	l.mark = nil // the mark and the usage are those of the old transcript
	l.lastUsage = transcript.Usage{}
	return nil
}

// maskNew masks the items that a mutator has written, and rejects duplicate ids.
func (l *loop) maskNew(items []transcript.Encoded) ([]transcript.Encoded, error) {
	known := make(map[string][]byte, l.t.Len())
	for _, e := range l.t.Items() {
		known[e.ID()] = e.JSON
	}
	seen := make(map[string]bool, len(items))
	out := slices.Clone(items)
	for i, e := range items {
		switch {
		case e.IsZero():
			return nil, fmt.Errorf("item %d is empty", i)
		case seen[e.ID()]:
			return nil, fmt.Errorf("duplicate item id %q", e.ID())
		}
		seen[e.ID()] = true
		if bytes.Equal(known[e.ID()], e.JSON) {
			continue
		}
		masked, err := l.a.mask(e)
		if err != nil {
			return nil, err
		}
		out[i] = masked
	}
	return out, nil
}

func (l *loop) mutators() []Mutator {
	if c := l.a.opt.Compact; !c.Disabled && (l.contextSize() > 0 || c.Items > 0) {
		return append(slices.Clip(l.a.opt.Mutators), compactor{c})
	}
	return l.a.opt.Mutators
}

func (l *loop) contextSize() int {
	if n := l.a.opt.Compact.Context; n > 0 {
		return n
	}
	return l.encoder().m.Info().Context
}

// askModel makes a model call for a mutator. The usage of the call is added to the run. The
// fallback model answers if the model stays unavailable.
func (l *loop) askModel(ctx context.Context, system string, items []transcript.Encoded) (transcript.Item, error) {
	enc := l.encoder()
	it, err := l.askWith(ctx, enc.m, system, items)
	if err == nil || ctx.Err() != nil || l.fallback == nil || enc == l.fallback || !fallsBack(err) {
		return it, err
	}
	l.publish(event.Notice{Text: fmt.Sprintf("%v; using %s instead", err, l.fallback.m.Info())})
	return l.askWith(ctx, l.fallback.m, system, items)
}

func (l *loop) askWith(ctx context.Context, m model.Model, system string, items []transcript.Encoded) (transcript.Item, error) {
	req := &model.Request{System: system, MaxTokens: l.a.opt.Model.MaxTokens}
	for _, e := range items {
		w, err := m.Encode(e)
		if err != nil {
			return transcript.Item{}, err
		}
		req.Messages = append(req.Messages, w)
	}
	for attempt := 0; ; attempt++ {
		began := l.a.opt.Clock()
		answer, paid, err := l.a.attempt(ctx, m, req, false, nil)
		if failed := l.a.recordUsage(ctx, paid, forMutator); failed != nil {
			return transcript.Item{}, failed
		}
		if paid != nil {
			e := l.usageOf(paid)
			e.Purpose, e.Provider, e.Duration = forMutator, m.Info().Provider, l.a.opt.Clock().Sub(began)
			l.publish(e)
		}
		if err == nil || !l.waitRetry(ctx, err, attempt) {
			return answer.Item, err
		}
	}
}
