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
		inner, wait := call.Begin(ctx, provider, m.timeouts)
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
				failure.Usage = &a.usage // it is paid all the same
			}
			wait.Stop()
			yield(nil, failure)
		} else {
			emit(model.Answer{Item: a.item()})
		}
	}
}

// read takes the answer's events until it is complete, broken, or nobody wants
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
		var e event
		data := events.Data()
		if len(data) == 0 {
			continue
		}
		if err := json.Unmarshal(data, &e); err != nil && !e.foreign(err) {
			return m.provider.Malformed(fmt.Errorf("an event of the answer: %w", err))
		}
		if e.Type == "error" {
			return m.provider.Reported(data)
		}
		if e.Type != "ping" {
			wait.Heard()
		}
		if !a.take(&e, emit) || a.done {
			return nil
		}
	}
	if a.stopReason != "" && events.Err() == nil {
		return nil // some servers leave out message_stop
	}
	return m.provider.Broken(ctx, wait.Err(events.Err()))
}

// readDocument takes an answer that came in one piece, from a server that does
// not stream.
func (m *Model) readDocument(ctx context.Context, wait *call.Wait, body io.Reader, a *answer, emit func(model.Event) bool) *model.Error {
	text, err := io.ReadAll(io.LimitReader(wait.Reader(body), maxDocument))
	if err != nil {
		return m.provider.Broken(ctx, wait.Err(err))
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
