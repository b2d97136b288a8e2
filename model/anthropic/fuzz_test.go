package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
)

func FuzzStream(f *testing.F) {
	modeltest.Fuzz(f, func(client *http.Client) (model.Model, error) {
		return anthropic.New("claude-haiku-4-5", &anthropic.Options{BaseURL: "http://127.0.0.1", HTTPClient: client})
	})
}
