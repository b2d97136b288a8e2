package models

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/openai"
)

// listTimeout is the time limit for a provider's list of models.
const listTimeout = 30 * time.Second

// List returns the models that a provider offers, with prices from the settings.
func (at *Endpoint) List(ctx context.Context, e *env.Env, rules *settings.Settings) ([]model.Info, error) {
	ctx, stop := context.WithTimeout(ctx, listTimeout)
	defer stop()
	list, err := at.list(ctx, e)
	if err != nil {
		return nil, err
	}
	configured := modelsOf(rules)
	for i := range list {
		if price, ok := configured.PriceOf(at.Provider, list[i].Model); ok {
			list[i].Price, list[i].Reported = price.Price, price.Reported
		} else if list[i].Price == nil && at.local {
			list[i].Price = &model.Price{}
		}
	}
	return list, nil
}

// lister is a model whose provider lists its models.
type lister interface {
	List(ctx context.Context) ([]model.Info, error)
}

// asker is a model that can fetch documents from URLs below its provider's base URL.
type asker interface {
	Ask(ctx context.Context, path string) error
}

func (at *Endpoint) list(ctx context.Context, e *env.Env) ([]model.Info, error) {
	m, err := at.client(e)
	if err != nil {
		return nil, err
	}
	l, ok := m.(lister)
	if !ok {
		return nil, outcome.Invalid(at.Provider+" does not list its models", "")
	}
	return l.List(ctx)
}

// client returns a model without a name, to send queries to the provider.
func (at *Endpoint) client(e *env.Env) (model.Model, error) {
	if at.API == providers.Anthropic {
		return anthropic.New("none", &anthropic.Options{APIKey: at.Key, BaseURL: at.BaseURL, Provider: at.Provider, Header: at.Header, Now: e.Clock})
	}
	return openai.New("none", &openai.Options{APIKey: at.Key, BaseURL: at.BaseURL, Provider: at.Provider, Header: at.Header, Now: e.Clock})
}

// CheckKey sends the provider a request that succeeds only with a valid key.
func (at *Endpoint) CheckKey(ctx context.Context, e *env.Env) error {
	ctx, stop := context.WithTimeout(ctx, listTimeout)
	defer stop()
	m, err := at.client(e)
	if err != nil {
		return err
	}
	a, ok := m.(asker)
	if known, _ := providers.Lookup(at.Provider); ok && known.KeyCheck != "" && at.own {
		return a.Ask(ctx, known.KeyCheck)
	}
	_, err = at.list(ctx, e)
	return err
}
