// Package models makes the models of a run from their names.
//
//	PROVIDER/MODEL, settings, keys of the environment ─► model.Model
package models

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/model/scripted"
)

// OllamaURL is where Ollama listens by default.
const OllamaURL = "http://127.0.0.1:11434/v1"

// Models are the models of a run.
type Models struct {
	Primary, Fallback model.Model
	KeySource         string // the variable that the key came from, or "none"
}

// Choice names models. Names are PROVIDER/MODEL; Model defaults to HOLDFAST_MODEL.
type Choice struct{ Model, Fallback, BaseURL string }

// Open makes the models that are named. Nil settings leave all to the defaults.
func Open(e *env.Env, c Choice, rules *settings.Settings) (*Models, error) {
	name := cmp.Or(c.Model, e.Get("HOLDFAST_MODEL"))
	if name == "" {
		return nil, outcome.Invalid("no model is named", `use --model anthropic/claude-sonnet-4-6, or set HOLDFAST_MODEL; "holdfast demo" needs none`)
	}
	m := &Models{}
	var err error
	if m.Primary, m.KeySource, err = New(e, "--model", name, c.BaseURL, rules); err != nil {
		return nil, err
	}
	if c.Fallback != "" {
		base := ""
		if Provider(c.Fallback) == Provider(name) {
			base = c.BaseURL
		}
		m.Fallback, _, err = New(e, "--fallback-model", c.Fallback, base, rules)
	}
	return m, err
}

// Provider is the provider of PROVIDER/MODEL.
func Provider(name string) string {
	p, _, _ := strings.Cut(name, "/")
	return p
}

// New makes the model that PROVIDER/MODEL names. Keys come from the environment and from
// nowhere else. where says in errors who named it.
func New(e *env.Env, where, name, baseURL string, rules *settings.Settings) (m model.Model, keySource string, err error) {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || rest == "" {
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: %q does not name a provider and a model", where, name), "for example anthropic/claude-sonnet-4-6 or ollama/qwen3")
	}
	keySource = "none"
	key := func(variable string) string {
		k := e.Get(variable)
		if k != "" {
			keySource = variable
		}
		return k
	}
	var said settings.Models
	if rules != nil {
		said = rules.Models
	}
	price, _ := said.PriceOf(kind, rest)
	timeouts := said.Timeouts(kind)
	switch kind {
	case "anthropic":
		m, err = anthropic.New(rest, &anthropic.Options{
			APIKey: key("ANTHROPIC_API_KEY"), BaseURL: cmp.Or(baseURL, e.Get("ANTHROPIC_BASE_URL")), Timeouts: timeouts, Price: price.Price, Now: e.Clock,
		})
	case "openai":
		m, err = openai.New(rest, &openai.Options{
			APIKey: key("OPENAI_API_KEY"), BaseURL: cmp.Or(baseURL, e.Get("OPENAI_BASE_URL")), Timeouts: timeouts,
			Price: price.Price, Reported: price.Reported, Now: e.Clock,
		})
	case "ollama":
		m, err = openai.New(rest, &openai.Options{
			Provider: "ollama", BaseURL: cmp.Or(baseURL, OllamaURL), Timeouts: timeouts, Price: price.Price, Reported: price.Reported, Now: e.Clock,
		})
	case "scripted":
		m, err = scriptedModel(e, rest, said)
	default:
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: there is no provider %q", where, kind), "the providers are anthropic, openai, ollama and scripted; any server with OpenAI's API works as openai/MODEL with --base-url")
	}
	if err != nil {
		return nil, "", outcome.Invalid(fmt.Sprintf("%s: %v", where, err), "")
	}
	return m, keySource, nil
}

func scriptedModel(e *env.Env, path string, said settings.Models) (model.Model, error) {
	path, err := e.Abs(path)
	if err != nil {
		return nil, err
	}
	return scripted.Load(path, &scripted.Options{Price: func(name string) *model.Price {
		price, _ := said.PriceOf("scripted", name)
		return price.Price
	}})
}
