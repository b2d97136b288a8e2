package anthropic_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
)

func TestAimock(t *testing.T) {
	modeltest.Aimock(t, true, func(url string) model.Model { return newModel(t, url) })
}

func newModel(t testing.TB, url string) model.Model {
	t.Helper()
	m, err := anthropic.New("claude-sonnet-4-6", &anthropic.Options{BaseURL: url, APIKey: modeltest.Key})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
