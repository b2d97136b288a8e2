package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

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
				Kind: model.ErrorAuth, Provider: m.info.Provider,
				Message: "there is no API key; hint: set OPENAI_API_KEY, or Options.APIKey in a program",
			})
			return
		}
		inner, wait := call.Begin(ctx, m.info.Provider, m.timeouts)
		defer wait.Stop()
		x := &call.Exchange{Body: m.body(req)}
		res, err := x.Post(inner, m.client, m.address, m.header)
		if err != nil || x.Failed() {
			yield(nil, m.provider.Failure(ctx, x, wait.Err(err)))
			return
		}
		wait.Answered()
		defer call.Finish(res.Body, wait.Stop)

		a := &answer{model: m.info.Model}
		more := true
		emit := func(e model.Event) bool {
			wait.Pause()
			more = more && yield(e, nil)
			wait.Heard()
			return more
		}
		if failure := m.read(ctx, wait, res, a, emit); !more {
			wait.Stop() // the caller has gone: nothing is worth reading
		} else if failure != nil {
			failure.Partial = a.partial(ctx.Err() != nil)
			if a.usage.Total() > 0 {
				failure.Usage, failure.Cost = &a.usage, a.cost // it is paid all the same
			}
			wait.Stop()
			yield(nil, failure)
		} else {
			emit(model.Answer{Item: a.item(), Cost: a.cost})
		}
	}
}

// read takes the answer's chunks until it is complete, broken, or nobody wants
// more of it.
func (m *Model) read(ctx context.Context, wait *call.Wait, res *http.Response, a *answer, emit func(model.Event) bool) *model.Error {
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "text/html", "application/xhtml+xml":
		return m.provider.WebPage(wait.Reader(res.Body))
	case "application/json":
		return m.readDocument(ctx, wait, res.Body, a, emit)
	}
	events := call.NewEvents(res.Body)
	for events.Next() {
		if ctx.Err() != nil {
			return m.provider.Broken(ctx, ctx.Err())
		}
		data := bytes.TrimSpace(events.Data())
		if len(data) == 0 {
			continue
		}
		wait.Heard()
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			if a.finishReason == "" && a.empty() {
				return m.provider.Malformed(errors.New("the answer is empty"))
			}
			return nil
		}
		if more, failure := m.take(data, a, emit); failure != nil || !more {
			return failure
		}
	}
	if a.finishReason != "" && events.Err() == nil {
		return nil // some servers leave out [DONE]
	}
	return m.provider.Broken(ctx, wait.Err(events.Err()))
}

func (m *Model) take(data []byte, a *answer, emit func(model.Event) bool) (bool, *model.Error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, m.provider.Malformed(fmt.Errorf("a chunk of the answer: %w", err))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, m.provider.Reported(data)
	}
	return a.take(&c, emit), nil
}

// readDocument takes an answer that came in one piece, from a server that does
// not stream.
func (m *Model) readDocument(ctx context.Context, wait *call.Wait, body io.Reader, a *answer, emit func(model.Event) bool) *model.Error {
	text, err := io.ReadAll(io.LimitReader(wait.Reader(body), maxDocument))
	if err != nil {
		return m.provider.Broken(ctx, wait.Err(err))
	}
	if _, failure := m.take(text, a, emit); failure != nil {
		return failure
	}
	if a.finishReason == "" && a.empty() {
		return m.provider.Malformed(errors.New("the answer has no choices"))
	}
	return nil
}
