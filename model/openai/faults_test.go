package openai_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/model/openai"
)

const firstChunks = `data: {"model":"gpt-5.1","choices":[{"index":0,"delta":{"role":"assistant","content":"Half"}}]}

`

const restChunks = `data: {"model":"gpt-5.1","choices":[{"index":0,"delta":{"content":" done"}}]}

data: {"model":"gpt-5.1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"model":"gpt-5.1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}

data: [DONE]

`

func TestFaults(t *testing.T) {
	modeltest.Run(t, modeltest.Adapter{First: firstChunks, Remaining: restChunks, Open: func(url, key string) (model.Model, error) {
		return openai.New("gpt-5.1", &openai.Options{BaseURL: url, APIKey: key})
	}, Ping: ": PROCESSING\n\n", OpenWith: func(url string, client *http.Client, timeouts model.Timeouts) (model.Model, error) {
		return openai.New("gpt-5.1", &openai.Options{BaseURL: url, APIKey: modeltest.Key, HTTPClient: client, Timeouts: timeouts})
	}})
}
