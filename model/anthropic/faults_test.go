package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
)

const firstEvents = `event: message_start
data: {"type":"message_start","message":{"model":"claude-sonnet-4-6","usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}

`

const restEvents = `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" done"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`

func TestFaults(t *testing.T) {
	modeltest.Run(t, modeltest.Adapter{First: firstEvents, Remaining: restEvents, Open: func(url, key string) (model.Model, error) {
		return anthropic.New("claude-sonnet-4-6", &anthropic.Options{BaseURL: url, APIKey: key})
	}, Ping: "event: ping\ndata: {\"type\":\"ping\"}\n\n", OpenWith: func(url string, client *http.Client, timeouts model.Timeouts) (model.Model, error) {
		return anthropic.New("claude-sonnet-4-6", &anthropic.Options{BaseURL: url, APIKey: modeltest.Key, HTTPClient: client, Timeouts: timeouts})
	}})
}
