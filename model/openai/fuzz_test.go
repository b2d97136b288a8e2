package openai_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/model/openai"
)

func FuzzStream(f *testing.F) {
	modeltest.Fuzz(f, func(client *http.Client) (model.Model, error) {
		return openai.New("gpt-5.1", &openai.Options{BaseURL: "http://127.0.0.1", HTTPClient: client})
	})
}
