package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modelfacts"
)

// List returns the server's models in its order. It sets only the fields for which the server or
// the built-in list has information about a model. Errors of the server are [*model.Error].
func (m *adapter) List(ctx context.Context) ([]model.Info, error) {
	text, failure := m.provider.Get(ctx, m.client, m.base.JoinPath("models").String(), m.header)
	if failure != nil {
		return nil, failure
	}
	var doc struct {
		Data []struct {
			ID      string `json:"id"`
			Context int    `json:"context_length"` // OpenRouter's and Together's
			Window  int    `json:"max_model_len"`  // vLLM's
			Groq    int    `json:"context_window"` // Groq's
			Pricing struct {
				Prompt, Completion string // of OpenRouter: US dollars per token
			} `json:"pricing"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		// Together's list is a plain array.
		if json.Unmarshal(text, &doc.Data) != nil {
			return nil, m.provider.Malformed(fmt.Errorf("the list of models: %w", err))
		}
	}
	var list []model.Info
	for _, d := range doc.Data {
		facts, _ := modelfacts.Lookup(m.info.Provider, d.ID)
		info := model.Info{
			Provider: m.info.Provider, Model: d.ID, API: apiName, Context: max(facts.Context, d.Context, d.Window, d.Groq),
			MaxOutput: facts.MaxOutput, Price: facts.Price, Reported: m.info.Reported,
		}
		input, err1 := strconv.ParseFloat(d.Pricing.Prompt, 64)
		output, err2 := strconv.ParseFloat(d.Pricing.Completion, 64)
		if m.reportsCost && err1 == nil && err2 == nil && input >= 0 && output >= 0 {
			info.Price = &model.Price{Input: input * 1e6, Output: output * 1e6, CacheRead: input * 1e6, CacheWrite: input * 1e6}
		}
		list = append(list, info)
	}
	return list, nil
}

// Ask requests a document whose URL is below the server's base URL, such as OpenRouter's "key".
// Errors of the server are [*model.Error].
func (m *adapter) Ask(ctx context.Context, path string) error {
	if _, failure := m.provider.Get(ctx, m.client, m.base.JoinPath(path).String(), m.header); failure != nil {
		return failure
	}
	return nil
}
