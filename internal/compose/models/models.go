// Package models makes the models of a run from their names.
//
//	PROVIDER/MODEL ─┬─ the table of known providers ─┐
//	                ├─ settings: providers, prices ──┼─► Endpoint ─► model.Model
//	                └─ flags, environment, keys ─────┘
//
// A key that settings name belongs to the server that is the provider's by the settings or by
// the table: with another base URL, by a flag or by the environment, only a key of the
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

// Choice names models. Names are PROVIDER/MODEL; Model defaults to HOLDFAST_MODEL, then to that
// of the settings.
type Choice struct {
	Model, Fallback, BaseURL string
	NoKey                    bool // nobody is called: keys are neither fetched nor missed
}

// Default is the model that is used when nobody names one: HOLDFAST_MODEL, then that of the
// settings, or "".
func Default(e *env.Env, rules *settings.Settings) string {
	name := e.Lookup("HOLDFAST_MODEL")
	if name == "" && rules != nil {
		name = rules.Models.Model.Value
	}
	return name
}

// Open makes the models that are named. Nil settings leave all to the defaults.
func Open(ctx context.Context, e *env.Env, c Choice, rules *settings.Settings) (*Models, error) {
	where, name := "--model", c.Model
	if name == "" {
		if name = Default(e, rules); name == "" {
			return nil, ErrNoModel("no model is named")
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

// ErrNoModel is the failure of what needs a model where nobody names one.
func ErrNoModel(message string) error {
	return outcome.Invalid(message, `holdfast init sets one up for all runs; --model anthropic/claude-sonnet-4-6 or HOLDFAST_MODEL names one for this; "holdfast demo" needs none`)
}

// Provider is the provider of PROVIDER/MODEL.
func Provider(name string) string {
	p, _, _ := strings.Cut(name, "/")
	return p
}

// New makes the model that PROVIDER/MODEL names. where says in errors who named it.
func New(ctx context.Context, e *env.Env, where, name, baseURL string, rules *settings.Settings) (model.Model, error) {
	m, _, err := open(ctx, e, where, name, baseURL, rules, false)
	return m, err
}

func open(ctx context.Context, e *env.Env, where, name, baseURL string, rules *settings.Settings, noKey bool) (m model.Model, keySource string, err error) {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || rest == "" {
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: %q does not name a provider and a model", where, name), "for example anthropic/claude-sonnet-4-6 or ollama/qwen3")
	}
	said := modelsOf(rules)
	price, _ := said.PriceOf(kind, rest)
	if kind == "scripted" {
		if m, err = scriptedModel(e, rest, said); err != nil {
			return nil, "", outcome.Invalid(fmt.Sprintf("%s: %v", where, err), "")
		}
		return m, "none", nil
	}
	at, err := resolve(ctx, e, where, kind, baseURL, rules, noKey)
	if err != nil {
		return nil, "", err
	}
	if price.Price == nil && !price.Reported && at.local {
		price.Price = &model.Price{} // one's own machine sends no bill
	}
	if at.API == providers.Anthropic {
		m, err = anthropic.New(rest, &anthropic.Options{
			APIKey: at.Key, BaseURL: at.BaseURL, Provider: kind, Header: at.Header, Timeouts: said.Timeouts(kind), Price: price.Price, Now: e.Clock,
		})
	} else {
		m, err = openai.New(rest, &openai.Options{
			APIKey: at.Key, BaseURL: at.BaseURL, Provider: kind, Header: at.Header, Timeouts: said.Timeouts(kind), Price: price.Price,
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

func scriptedModel(e *env.Env, path string, said *settings.Models) (model.Model, error) {
	path, err := e.Abs(path)
	if err != nil {
		return nil, err
	}
	return scripted.Load(path, &scripted.Options{Price: func(name string) *model.Price {
		price, _ := said.PriceOf("scripted", name)
		return price.Price
	}})
}

// unknown is the failure of a provider that nobody knows.
func unknown(where, kind string, said *settings.Models) error {
	return outcome.Invalid(fmt.Sprintf("%s: there is no provider %q", where, kind),
		"the providers are "+strings.Join(said.ProviderNames(), ", ")+" and scripted; name any other server with OpenAI's API in the settings: "+
			fmt.Sprintf(`{"providers": {%q: {"baseURL": "https://HOST/v1"}}}`, cmp.Or(kind, "NAME")))
}
