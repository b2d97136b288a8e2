package chat

import (
	"context"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// Models returns the models that the user can choose from: those of the provider of the current one.
func (s *Session) Models(ctx context.Context) ([]pick.Item, error) {
	provider, _, _ := strings.Cut(s.About().Model, "/")
	if provider == "scripted" { // has no list
		return []pick.Item{{Text: s.About().Model}}, nil
	}
	if provider == "" {
		return nil, models.NoModelError("no model is configured")
	}
	return s.ModelsOf(ctx, provider)
}

// ModelsOf returns the models of a provider.
func (s *Session) ModelsOf(ctx context.Context, provider string) ([]pick.Item, error) {
	rules := s.at().rules
	at, err := models.Resolve(ctx, s.p.Environment(), provider, s.flags.BaseURL, rules)
	if err != nil {
		return nil, err
	}
	list, err := at.List(ctx, s.p.Environment(), rules)
	if err != nil {
		return nil, err
	}
	items := make([]pick.Item, 0, len(list))
	for _, m := range list {
		detail := ""
		if m.Context > 0 {
			detail = strconv.Itoa(m.Context/1000) + "k tokens"
		}
		items = append(items, pick.Item{Text: provider + "/" + m.Model, Detail: detail})
	}
	return items, nil
}

// Window returns the size of the context window of a model in tokens; 0 if it is not known.
func (s *Session) Window(model string) int {
	s.mu.Lock()
	if model == s.about.Model {
		model = s.spec.Model // a script has another name than its file
	}
	rules := s.rules
	s.mu.Unlock()
	m, err := models.Open(context.Background(), s.p.Environment(), models.Choice{Model: model, BaseURL: s.flags.BaseURL, NoKey: true}, rules)
	if err != nil {
		return 0
	}
	return m.Primary.Info().Context
}
