package openai_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/model/openai"
)

func TestAimock(t *testing.T) {
	modeltest.Aimock(t, false, func(url string) model.Model { return newModel(t, url) })
}

func newModel(t testing.TB, url string) model.Model {
	t.Helper()
	m, err := openai.New("gpt-5.1", &openai.Options{BaseURL: url + "/v1", APIKey: modeltest.Key})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
