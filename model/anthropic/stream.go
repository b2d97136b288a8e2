package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Stream sends a request and yields events as they arrive; see [model.Model]. Leaving the loop ends the
// call.
func (m *adapter) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	if m.keyless {
		return call.NoKey(m.info.Provider, "ANTHROPIC_API_KEY")
	}
	return func(yield func(model.Event, error) bool) {
		s := call.Stream{
			Provider: m.provider, Timeouts: m.timeouts, Body: m.body(req),
			Client: m.client, Address: m.address, Header: m.header,
			Answer: reader{&answer{model: m.info.Model}, m.provider},
		}
		s.All(ctx)(yield)
	}
}

// reader is the [call.Answer] of one call.
type reader struct {
	*answer
	provider call.Provider
}

func (r reader) Event(data []byte, out *call.Output) (more bool, _ *model.Error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil && !e.foreign(err) {
		return false, r.provider.Malformed(fmt.Errorf("an event of the answer: %w", err))
	}
	if e.Type == "error" {
		return false, r.provider.Reported(data)
	}
	if e.Type != "ping" {
		out.Activity()
	}
	return r.add(&e, out.Emit) && !r.done, nil
}

func (r reader) Document(text []byte, out *call.Output) *model.Error {
	var doc struct {
		Type       string
		Content    []json.RawMessage
		StopReason string `json:"stop_reason"`
		message
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return r.provider.Malformed(fmt.Errorf("the answer is not JSON: %w", err))
	}
	if doc.Type == "error" {
		return r.provider.Reported(text)
	}
	if doc.Type != "message" {
		return r.provider.Malformed(errors.New("the answer is not a message"))
	}
	r.add(&event{Type: "message_start", Message: &doc.message}, out.Emit)
	for i, block := range doc.Content {
		if !r.add(&event{Type: "content_block_start", Index: i, ContentBlock: block}, out.Emit) {
			return nil
		}
	}
	r.stopReason = doc.StopReason
	return nil
}

func (r reader) Ended() bool { return r.stopReason != "" }

func (r reader) Complete() model.Answer { return model.Answer{Item: r.item()} }

func (r reader) Partial(cancelled bool) (*transcript.Item, transcript.Usage, *float64) {
	return r.partial(cancelled), r.usage, nil
}
