package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
)

const maxDocument = 32 << 20

// Stream sends a request and yields what comes back as it comes; see
// [model.Model]. Breaking off the loop ends the call.
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if m.keyless {
			yield(nil, &model.Error{
				Kind: model.ErrorAuth, Provider: provider,
				Message: "there is no API key; hint: set ANTHROPIC_API_KEY, or Options.APIKey in a program",
			})
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		x := &call.Exchange{Body: m.body(req)}
		var res *http.Response
		err := m.client.Post(inner, "v1/messages", x.Body.Reader(), &res, option.WithMiddleware(x.Do))
		if err != nil || x.Failed() {
			yield(nil, m.provider.Failure(ctx, x, err))
			return
		}
		defer call.Finish(res.Body, cancel)

		a := &answer{model: m.info.Model}
		more := true
		emit := func(e model.Event) bool {
			more = more && yield(e, nil)
			return more
		}
		if failure := m.read(ctx, res, a, emit); !more {
			cancel() // the caller has gone: nothing is worth reading
		} else if failure != nil {
			failure.Partial = a.partial(ctx.Err() != nil)
			cancel()
			yield(nil, failure)
		} else {
			emit(model.Answer{Item: a.item()})
		}
	}
}

// read takes the answer's events until it is complete, broken, or nobody wants
// more of it.
func (m *Model) read(ctx context.Context, res *http.Response, a *answer, emit func(model.Event) bool) *model.Error {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		return m.readDocument(ctx, res.Body, a, emit)
	}
	events := ssestream.NewDecoder(res)
	for events.Next() {
		if ctx.Err() != nil {
			return m.provider.Broken(ctx, ctx.Err())
		}
		var e event
		data := events.Event().Data
		if len(data) == 0 {
			continue
		}
		if err := json.Unmarshal(data, &e); err != nil && !e.foreign(err) {
			return m.provider.Malformed(fmt.Errorf("an event of the answer: %w", err))
		}
		if e.Type == "error" {
			return m.provider.Reported(data)
		}
		if !a.take(&e, emit) || a.done {
			return nil
		}
	}
	if a.stopReason != "" && events.Err() == nil {
		return nil // some servers leave out message_stop
	}
	return m.provider.Broken(ctx, events.Err())
}

// readDocument takes an answer that came in one piece, from a server that does
// not stream.
func (m *Model) readDocument(ctx context.Context, body io.Reader, a *answer, emit func(model.Event) bool) *model.Error {
	text, err := io.ReadAll(io.LimitReader(body, maxDocument))
	if err != nil {
		return m.provider.Broken(ctx, err)
	}
	var doc struct {
		Type       string
		Content    []json.RawMessage
		StopReason string `json:"stop_reason"`
		message
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return m.provider.Malformed(fmt.Errorf("the answer is not JSON: %w", err))
	}
	if doc.Type == "error" {
		return m.provider.Reported(text)
	}
	if doc.Type != "message" {
		return m.provider.Malformed(errors.New("the answer is not a message"))
	}
	a.take(&event{Type: "message_start", Message: &doc.message}, emit)
	for i, block := range doc.Content {
		if !a.take(&event{Type: "content_block_start", Index: i, ContentBlock: block}, emit) {
			return nil
		}
	}
	a.stopReason = doc.StopReason
	return nil
}
