// Package models creates the models of a run from their names.
//
//	PROVIDER/MODEL ─┬─ the table of known providers ─┐
//	                ├─ settings: providers, prices ──┼─► Endpoint ─► model.Model
//	                └─ flags, environment, keys ─────┘
//
// A key configured in the settings is sent only to the server that the settings or the table give
// for its provider. If a flag or the environment sets another base URL, only a key from the
// environment is sent.
package models

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/model/scripted"
)

// Models are the models of a run.
type Models struct {
	Primary, Fallback model.Model
	KeySource         string // see [Endpoint].KeySource
}

// Choice names the models of a run. Names are PROVIDER/MODEL; the default of Model is
// HOLDFAST_MODEL, then the settings' model.
type Choice struct {
	Model, Fallback, BaseURL string
	NoKey                    bool // true if no model is called; keys are then neither fetched nor required
}

// Default returns the default model: HOLDFAST_MODEL, then the settings' model, or "".
func Default(e *env.Env, rules *settings.Settings) string {
	name := e.Lookup("HOLDFAST_MODEL")
	if name == "" && rules != nil {
		name = rules.Models.Model.Value
	}
	return name
}

// Open creates the named models. Without settings, defaults apply.
func Open(ctx context.Context, e *env.Env, c Choice, rules *settings.Settings) (*Models, error) {
	where, name := "--model", c.Model
	if name == "" {
		if name = Default(e, rules); name == "" {
			return nil, NoModelError("no model is configured")
		}
		if where = "HOLDFAST_MODEL"; e.Lookup(where) == "" {
			where = settings.OriginText(rules.Models.Model.Origin)
		}
	}
	m := &Models{}
	var err error
	if m.Primary, m.KeySource, err = open(ctx, e, where, name, c.BaseURL, rules, c.NoKey); err != nil {
		return nil, err
	}
	if c.Fallback != "" {
		base := ""
		if Provider(c.Fallback) == Provider(name) {
			base = c.BaseURL
		}
		m.Fallback, _, err = open(ctx, e, "--fallback-model", c.Fallback, base, rules, c.NoKey)
	}
	return m, err
}

// NoModelError returns the error of an operation that requires a model when none is configured.
func NoModelError(message string) error {
	return outcome.Invalid(message, `run holdfast init to configure one for all runs, or use --model anthropic/claude-sonnet-4-6 or HOLDFAST_MODEL for this run; holdfast demo needs no model`)
}

// Provider returns the provider of PROVIDER/MODEL.
func Provider(name string) string {
	p, _, _ := strings.Cut(name, "/")
	return p
}

// New creates the model PROVIDER/MODEL. The parameter where says where the name comes from, for
// error messages.
func New(ctx context.Context, e *env.Env, where, name, baseURL string, rules *settings.Settings) (model.Model, error) {
	m, _, err := open(ctx, e, where, name, baseURL, rules, false)
	return m, err
}

func open(ctx context.Context, e *env.Env, where, name, baseURL string, rules *settings.Settings, noKey bool) (m model.Model, keySource string, err error) {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || rest == "" {
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: invalid model name %q; want PROVIDER/MODEL", where, name), "for example anthropic/claude-sonnet-4-6 or ollama/qwen3")
	}
	configured := modelsOf(rules)
	price, _ := configured.PriceOf(kind, rest)
	if kind == "scripted" {
		if m, err = scriptedModel(e, rest, configured); err != nil {
			return nil, "", outcome.Invalid(fmt.Sprintf("%s: %v", where, err), "")
		}
		return m, "none", nil
	}
	at, err := resolve(ctx, e, where, kind, baseURL, rules, noKey)
	if err != nil {
		return nil, "", err
	}
	if price.Price == nil && !price.Reported && at.local {
		price.Price = &model.Price{} // a model on this machine costs nothing
	}
	if at.API == providers.Anthropic {
		m, err = anthropic.New(rest, &anthropic.Options{
			APIKey: at.Key, BaseURL: at.BaseURL, Provider: kind, Header: at.Header, Timeouts: configured.Timeouts(kind), Price: price.Price, Now: e.Clock,
		})
	} else {
		m, err = openai.New(rest, &openai.Options{
			APIKey: at.Key, BaseURL: at.BaseURL, Provider: kind, Header: at.Header, Timeouts: configured.Timeouts(kind), Price: price.Price,
			Reported: price.Reported, Now: e.Clock,
		})
	}
	if err != nil {
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: %v", where, err), "")
	}
	return m, at.KeySource, nil
}

func modelsOf(rules *settings.Settings) *settings.Models {
	if rules == nil {
		return &settings.Models{}
	}
	return &rules.Models
}

func scriptedModel(e *env.Env, path string, configured *settings.Models) (model.Model, error) {
	path, err := e.Abs(path)
	if err != nil {
		return nil, err
	}
	return scripted.Load(path, &scripted.Options{Price: func(name string) *model.Price {
		price, _ := configured.PriceOf("scripted", name)
		return price.Price
	}})
}

// unknownProvider returns the error for an unknown provider.
func unknownProvider(where, kind string, configured *settings.Models) error {
	return outcome.Invalid(fmt.Sprintf("%s: unknown provider %q", where, kind),
		"the providers are "+strings.Join(configured.ProviderNames(), ", ")+" and scripted; add any other server with OpenAI's API to the settings: "+
			fmt.Sprintf(`{"providers": {%q: {"baseURL": "https://HOST/v1"}}}`, cmp.Or(kind, "NAME")))
}
