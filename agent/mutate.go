package agent

import (
	"bytes"
	"context"
	"encoding/json"
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
		before := l.t.Items()
		cursor := Cursor{
			Moment: moment, Items: before, Usage: l.lastUsage, Context: l.contextSize(),
			NewID: l.a.opt.NewID, Ask: l.askModel,
		}
		c, ours := m.(compactor)
		if ours {
			if !c.due(cursor) {
				continue
			}
			if goes, err := l.beforeCompaction(ctx); !goes || err != nil {
				return err
			}
		}
		items, err := m.Mutate(ctx, cursor)
		if err != nil && ours && ctx.Err() == nil {
			l.tell(Notice{Text: "the transcript could not be compacted: " + err.Error()})
			continue
		}
		if err != nil {
			return fmt.Errorf("mutator %s: %w", m.Name(), err)
		}
		if items == nil || same(before, items) {
			continue
		}
		if err := l.rewrite(ctx, m.Name(), items); err != nil {
			return fmt.Errorf("mutator %s: %w", m.Name(), err)
		}
		l.tell(MutationFinished{By: m.Name(), Moment: moment, Dirty: true, Before: len(before), After: len(items)})
		if ours {
			if err := l.afterCompaction(ctx, items); err != nil {
				return err
			}
		}
	}
	return nil
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
