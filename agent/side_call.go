package agent

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// SideCall makes a model call outside the transcript, on behalf of a tool, and returns the text of
// the answer. Its usage is added to the run. The log contains the cost of the call and the tool's
// result, but not the text itself. It is safe for concurrent use. It returns ErrBudget,
// [model.Info.Unpriced] and errors of the store. It returns the model's error after the retries
// that [ModelOptions].Retry allows. The fallback model answers if possible.
func (a *Agent) SideCall(ctx context.Context, m model.Model, system, text string) (string, error) {
	e, err := a.encode(transcript.UserText(text))
	if err != nil {
		return "", err
	}
	out, err := a.sideCall(ctx, m, system, e)
	second := a.opt.Model.Fallback
	if err != nil && ctx.Err() == nil && second != nil && second.Info().String() != m.Info().String() && fallsBack(err) {
		return a.sideCall(ctx, second, system, e)
	}
	return out, err
}

// sideCall calls one model, with retries after retryable errors.
func (a *Agent) sideCall(ctx context.Context, m model.Model, system string, e transcript.Encoded) (string, error) {
	w, err := m.Encode(e)
	if err != nil {
		return "", err
	}
	req := &model.Request{System: system, MaxTokens: a.opt.Model.MaxTokens, Messages: []model.EncodedItem{w}}
	for attempt := 0; ; attempt++ {
		began := a.opt.Clock()
		answer, paid, err := a.attempt(ctx, m, req, true, nil)
		if failed := a.recordUsage(ctx, paid, forTool); failed != nil {
			return "", failed
		}
		a.reportSideCall(m.Info().Provider, paid, a.opt.Clock().Sub(began))
		if err == nil {
			return answer.Item.Text(), nil
		}
		me, ok := errors.AsType[*model.Error](err)
		if !ok || !me.Retryable() || attempt >= a.opt.Model.Retry.Max || me.RetryAfter > a.opt.Model.Retry.After || ctx.Err() != nil {
			return "", err
		}
		if err := a.opt.Sleep(ctx, a.opt.Model.Retry.delay(attempt, me.RetryAfter, a.opt.Rand())); err != nil {
			return "", err
		}
	}
}

// reportSideCall queues the usage event of a side call for the loop.
func (a *Agent) reportSideCall(provider string, p *callUsage, took time.Duration) {
	if p == nil {
		return
	}
	var r event.Result
	a.total.setUsage(&r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pendingEvents = append(a.pendingEvents, event.UsageUpdated{
		Model: p.model, Usage: p.usage, Total: r.Usage, CostUSD: r.CostUSD, CallUSD: p.cost, Purpose: forTool, Provider: provider, Duration: took,
	})
}
