package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// mutate lets the mutators rewrite the transcript. The loop itself finds out
// whether anything changed, checks the result, records and announces it.
func (l *loop) mutate(ctx context.Context) error {
	moment := AfterToolResult
	if l.turn.fresh {
		moment = AfterTurnEnded
	}
	for _, m := range l.mutators() {
		var err error
		if c, ours := m.(compactor); ours {
			err = l.compactWhenDue(ctx, c, moment)
		} else {
			_, err = l.mutateBy(ctx, m, l.cursor(moment))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) cursor(moment Moment) Cursor {
	return Cursor{
		Moment: moment, Items: l.t.Items(), Usage: l.lastUsage, Context: l.contextSize(),
		NewID: l.a.opt.NewID, Ask: l.askModel,
	}
}

// mutateBy lets one mutator rewrite the transcript, and says whether it did.
func (l *loop) mutateBy(ctx context.Context, m Mutator, c Cursor) (bool, error) {
	items, err := m.Mutate(ctx, c)
	if err != nil {
		return false, fmt.Errorf("mutator %s: %w", m.Name(), err)
	}
	return l.take(ctx, m, c, items)
}

// take records and announces what a mutator has made of the transcript, if it is another.
func (l *loop) take(ctx context.Context, m Mutator, c Cursor, items []transcript.Encoded) (bool, error) {
	if items == nil || same(c.Items, items) {
		return false, nil
	}
	if err := l.rewrite(ctx, m.Name(), items); err != nil {
		return false, fmt.Errorf("mutator %s: %w", m.Name(), err)
	}
	l.tell(MutationFinished{By: m.Name(), Moment: c.Moment, Dirty: true, Before: len(c.Items), After: len(items)})
	return true, nil
}

// compactWhenDue compacts a transcript that has grown too large. Where that fails, or a
// hook does not want it, the turn goes on as it is.
func (l *loop) compactWhenDue(ctx context.Context, c compactor, moment Moment) error {
	cur := l.cursor(moment)
	if l.turn.uncompacted || !c.due(cur) {
		return nil
	}
	_, err := l.compact(ctx, c, cur, triggerAuto)
	blocked, ok := errors.AsType[*HookError](err)
	switch {
	case ok:
		l.turn.uncompacted = true
		l.tell(Notice{Text: fmt.Sprintf("hook %s keeps the transcript from being compacted: %s", blocked.By, blocked.Reason)})
		return nil
	case errors.Is(err, errKept) && ctx.Err() == nil:
		l.tell(Notice{Text: "the transcript could not be compacted: " + err.Error()})
		return nil
	}
	return err
}

// errKept says that a compaction failed before anything was rewritten.
var errKept = errors.New("nothing was changed")

// compact makes the transcript smaller, and says whether it did.
func (l *loop) compact(ctx context.Context, c compactor, cur Cursor, trigger string) (bool, error) {
	if err := l.beforeCompaction(ctx, trigger, cur.Instructions); err != nil {
		return false, err
	}
	items, err := c.Mutate(ctx, cur)
	if err != nil {
		return false, fmt.Errorf("%w (%w)", err, errKept)
	}
	did, err := l.take(ctx, c, cur, items)
	if !did || err != nil {
		return false, err
	}
	return true, l.afterCompaction(ctx, trigger, items)
}

// Compact compacts the transcript now, between turns: with the steps of
// [Options].Compact, and instructions for the model that summarises, which may be "". It
// returns how many items there were and are. Errors: ErrRunning while a turn is open, a
// [*HookError] when a hook does not want it, the model's and the store's.
func (a *Agent) Compact(ctx context.Context, instructions string) (before, after int, err error) {
	if !a.running.TryLock() {
		return 0, 0, ErrRunning
	}
	defer a.running.Unlock()
	l, err := a.start(ctx, func(Event) {})
	if err != nil {
		return 0, 0, err
	}
	if l.turn != nil {
		return 0, 0, ErrRunning
	}
	ctx, done := a.interruptible(ctx)
	defer done()
	cur := l.cursor(AfterTurnEnded)
	cur.Instructions = instructions
	_, err = l.compact(ctx, compactor{a.opt.Compact}, cur, triggerManual)
	return len(cur.Items), l.t.Len(), err
}

func same(a, b []transcript.Encoded) bool {
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

// rewrite replaces the transcript by one record.
func (l *loop) rewrite(ctx context.Context, by string, items []transcript.Encoded) error {
	t, err := transcript.Of(items...)
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return err
	}
	if l.log != nil {
		raw := make([]json.RawMessage, len(items))
		for i, e := range items {
			raw[i] = e.JSON
		}
		w := session.Rewrite{Reason: by, By: by, Items: raw, Messages: len(items)}
		if err := l.log.Rewrite(context.WithoutCancel(ctx), w); err != nil {
			return err
		}
	}
	l.a.mu.Lock()
	l.t = t
	l.a.mu.Unlock()
	l.primary.reset()
	l.fallback.reset()
	l.lastUsage = transcript.Usage{} // it counted what is no longer sent
	return nil
}

func (l *loop) mutators() []Mutator {
	if c := l.a.opt.Compact; !c.Off && (l.contextSize() > 0 || c.Items > 0) {
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

// askModel is a mutator's own model call. It is counted like any other.
func (l *loop) askModel(ctx context.Context, system string, items []transcript.Encoded) (transcript.Item, error) {
	m := l.encoder().m
	req := &model.Request{System: system, MaxTokens: l.a.opt.MaxTokens}
	for _, e := range items {
		w, err := m.Encode(e)
		if err != nil {
			return transcript.Item{}, err
		}
		req.Messages = append(req.Messages, w)
	}
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return transcript.Item{}, err
		}
		if a, ok := ev.(model.Answer); ok {
			if a.Item.Usage != nil {
				last := l.lastUsage
				l.tell(*l.charge(m.Info(), *a.Item.Usage))
				l.lastUsage = last
			}
			return a.Item, nil
		}
	}
	return transcript.Item{}, &model.Error{
		Kind: model.ErrorMalformed, Provider: m.Info().Provider,
		Message: "the stream ended without an answer",
	}
}
