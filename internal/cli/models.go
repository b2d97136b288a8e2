package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/settings"
)

const ollamaURL = "http://127.0.0.1:11434/v1"

// runModels are the models of a run. keySource says where the key came from.
type runModels struct {
	primary, fallback model.Model
	keySource         string
}

// models makes the models that the flags name, as the settings have them asked; nil
// settings say nothing.
func (c *agentFlags) models(p *Program, rules *settings.Settings) (*runModels, error) {
	if c.model != nil {
		return &runModels{primary: c.model, fallback: c.fallback, keySource: "none"}, nil
	}
	name := orElse(c.Model, p.env("HOLDFAST_MODEL"))
	if name == "" {
		return nil, usage("no model is named", `use --model anthropic/claude-sonnet-4-6, or set HOLDFAST_MODEL; "holdfast demo" needs none`)
	}
	m := &runModels{}
	var err error
	if m.primary, m.keySource, err = p.model("--model", name, c.BaseURL, rules); err != nil {
		return nil, err
	}
	if c.FallbackModel != "" {
		base := ""
		if provider(c.FallbackModel) == provider(name) {
			base = c.BaseURL
		}
		m.fallback, _, err = p.model("--fallback-model", c.FallbackModel, base, rules)
	}
	return m, err
}

func provider(name string) string {
	p, _, _ := strings.Cut(name, "/")
	return p
}

// model makes the model that PROVIDER/MODEL names. Keys come from the
// environment and from nowhere else.
func (p *Program) model(flag, name, baseURL string, rules *settings.Settings) (m model.Model, keySource string, err error) {
	kind, rest, ok := strings.Cut(name, "/")
	if !ok || rest == "" {
		return nil, "", usage(fmt.Sprintf("%s: %q does not name a provider and a model", flag, name), "for example anthropic/claude-sonnet-4-6 or ollama/qwen3")
	}
	keySource = "none"
	key := func(variable string) string {
		k := p.env(variable)
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
			APIKey: key("ANTHROPIC_API_KEY"), BaseURL: orElse(baseURL, p.env("ANTHROPIC_BASE_URL")), Timeouts: timeouts, Price: price.Price, Now: p.Now,
		})
	case "openai":
		m, err = openai.New(rest, &openai.Options{
			APIKey: key("OPENAI_API_KEY"), BaseURL: orElse(baseURL, p.env("OPENAI_BASE_URL")), Timeouts: timeouts,
			Price: price.Price, Reported: price.Reported, Now: p.Now,
		})
	case "ollama":
		m, err = openai.New(rest, &openai.Options{
			Provider: "ollama", BaseURL: orElse(baseURL, ollamaURL), Timeouts: timeouts, Price: price.Price, Reported: price.Reported, Now: p.Now,
		})
	case "scripted":
		m, err = p.scripted(rest, said)
	default:
		return nil, "", usage(fmt.Sprintf("%s: there is no provider %q", flag, kind), "the providers are anthropic, openai, ollama and scripted; any server with OpenAI's API works as openai/MODEL with --base-url")
	}
	if err != nil {
		return nil, "", usage(fmt.Sprintf("%s: %v", flag, err), "")
	}
	return m, keySource, nil
}

func (p *Program) scripted(path string, said settings.Models) (model.Model, error) {
	if !filepath.IsAbs(path) {
		wd, err := p.Getwd()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(wd, path)
	}
	play, err := scripted.Load(path)
	if err != nil {
		return nil, err
	}
	if price, ok := said.PriceOf("scripted", orElse(play.Name, "play")); ok && price.Price != nil {
		play.Price = price.Price
	}
	return scripted.New(play, nil)
}
