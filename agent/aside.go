package agent

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrBudget says that the budget of the run is used up.
var ErrBudget = errors.New("the budget of the run is used up")

// Aside asks a model something beside the transcript, for a tool, and returns its text. The
// usage counts for the run and for those that the agent works for; nothing of it is put on
// record but what the tool makes of it. It may be called from any goroutine. Errors:
// ErrBudget, and the model's when that was tried as often as [Options].Retry wants; the
// fallback model answers where it can.
func (a *Agent) Aside(ctx context.Context, m model.Model, system, text string) (string, error) {
	e, err := a.encode(transcript.UserText(text))
	if err != nil {
		return "", err
	}
	out, err := a.askAside(ctx, m, system, e)
	second := a.opt.Fallback
	if err != nil && ctx.Err() == nil && second != nil && second.Info().String() != m.Info().String() && fallsBack(err) {
		return a.askAside(ctx, second, system, e)
	}
	return out, err
}

// askAside asks one model, again after errors that may pass.
func (a *Agent) askAside(ctx context.Context, m model.Model, system string, e transcript.Encoded) (string, error) {
	w, err := m.Encode(e)
	if err != nil {
		return "", err
	}
	req := &model.Request{System: system, MaxTokens: a.opt.MaxTokens, Messages: []model.Wire{w}}
	for attempt := 0; ; attempt++ {
		if a.broke() {
			return "", ErrBudget
		}
		it, err := a.asideOnce(ctx, m, req)
		if err == nil {
			return it.Text(), nil
		}
		me, ok := errors.AsType[*model.Error](err)
		if !ok || !me.Retryable() || attempt >= a.opt.Retry.Max || me.RetryAfter > a.opt.Retry.After || ctx.Err() != nil {
			return "", err
		}
		if err := a.opt.Sleep(ctx, a.opt.Retry.delay(attempt, me.RetryAfter, a.opt.Rand())); err != nil {
			return "", err
		}
	}
}

func (a *Agent) asideOnce(ctx context.Context, m model.Model, req *model.Request) (transcript.Item, error) {
	pay := func(u transcript.Usage, said *float64) {
		info := m.Info()
		a.pay(info.Model, u, info.Cost(u, said))
	}
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			if me, ok := errors.AsType[*model.Error](err); ok && me.Usage != nil {
				pay(*me.Usage, me.Cost)
			}
			return transcript.Item{}, err
		}
		if ans, ok := ev.(model.Answer); ok {
			if ans.Item.Usage != nil {
				pay(*ans.Item.Usage, ans.Cost)
			}
			return ans.Item, nil
		}
	}
	return transcript.Item{}, &model.Error{Kind: model.ErrorMalformed, Provider: m.Info().Provider, Message: "the stream ended without an answer"}
}
