package openai

import (
	"bytes"
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
		return call.NoKey(m.info.Provider, "OPENAI_API_KEY")
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
	out.Activity()
	if !bytes.HasPrefix(data, []byte("[DONE]")) {
		return r.chunk(data, out)
	}
	return false, r.complete("the answer is empty")
}

func (r reader) Document(text []byte, out *call.Output) *model.Error {
	if _, failure := r.chunk(text, out); failure != nil {
		return failure
	}
	return r.complete("the answer has no choices")
}

func (r reader) chunk(data []byte, out *call.Output) (more bool, _ *model.Error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, r.provider.Malformed(fmt.Errorf("a chunk of the answer: %w", err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, r.provider.Reported(data)
	}
	return r.take(&c, out.Emit), nil
}

// complete returns the error for an empty answer.
func (r reader) complete(detail string) *model.Error {
	if !r.Ended() && r.empty() {
		return r.provider.Malformed(errors.New(detail))
	}
	return nil
}

func (r reader) Ended() bool { return r.finishReason != "" }

func (r reader) Complete() model.Answer { return model.Answer{Item: r.item(), Cost: r.cost} }

func (r reader) Partial(cancelled bool) (*transcript.Item, transcript.Usage, *float64) {
	return r.partial(cancelled), r.usage, r.cost
}
