package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modelfacts"
)

// maxPages is the maximum number of pages of a list; a page has 1,000 models.
const maxPages = 20

// List returns the provider's models in its order, the newest first. Errors of the provider are
// [*model.Error].
func (m *adapter) List(ctx context.Context) ([]model.Info, error) {
	var list []model.Info
	query := url.Values{"limit": {"1000"}}
	for range maxPages {
		at := m.base.JoinPath("v1/models")
		at.RawQuery = query.Encode()
		text, failure := m.provider.Get(ctx, m.client, at.String(), m.header)
		if failure != nil {
			return nil, failure
		}
		var doc struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
			More bool   `json:"has_more"`
			Last string `json:"last_id"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, m.provider.Malformed(fmt.Errorf("the list of models: %w", err))
		}
		for _, d := range doc.Data {
			facts, _ := modelfacts.Lookup(m.info.Provider, d.ID)
			list = append(list, model.Info{
				Provider: m.info.Provider, Model: d.ID, API: apiName, Context: facts.Context, MaxOutput: facts.MaxOutput, Price: facts.Price,
			})
		}
		if !doc.More || doc.Last == "" {
			break
		}
		query.Set("after_id", doc.Last)
	}
	return list, nil
}
