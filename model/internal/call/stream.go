package call

import (
	"bytes"
	"context"
	"io"
	"iter"
	"mime"
	"net/http"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxDocument is the maximum size, in bytes, of an answer that is not streamed.
const maxDocument = 32 << 20

// Stream is one call of a provider, from the request to the end of the answer.
type Stream struct {
	Provider Provider
	Timeouts model.Timeouts
	Body     *Body
	Client   *http.Client
	Address  string
	Header   http.Header
	Answer   Answer
}

// Answer builds an answer.
type Answer interface {
	Reader
	// Complete is the complete answer.
	Complete() model.Answer
	// Partial is the received part of a broken answer, with its cost.
	Partial(cancelled bool) (item *transcript.Item, usage transcript.Usage, cost *float64)
}

// Reader reads an answer.
type Reader interface {
	// Event processes the data of one event, which is not empty. more is false after the last
	// event, or if the caller has stopped the iteration.
	Event(data []byte, out *Output) (more bool, failure *model.Error)
	// Document processes an answer that is not streamed.
	Document(text []byte, out *Output) *model.Error
	// Ended reports whether an answer is complete without its last event, which some servers omit.
	Ended() bool
}

// Output passes events to the caller.
type Output struct {
	wait  *Timeout
	yield func(model.Event, error) bool
	done  bool // the caller wants no more
}

// Activity records an event of the answer, other than a ping.
func (o *Output) Activity() { o.wait.Activity() }

// Emit yields an event, and reports whether the caller wants another one. The time that the caller
// takes does not count toward the provider's time limit.
func (o *Output) Emit(e model.Event) bool {
	o.wait.Pause()
	o.done = o.done || !o.yield(e, nil)
	o.wait.Activity()
	return !o.done
}

// All makes the call and yields its events; see [model.Model]. Leaving the loop ends the call.
func (s *Stream) All(ctx context.Context) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		inner, wait := Start(ctx, s.Provider.Name, s.Timeouts)
		defer wait.Stop()
		x := &Exchange{Body: s.Body}
		res, err := x.Post(inner, s.Client, s.Address, s.Header)
		if err != nil || x.Failed() {
			yield(nil, s.Provider.Failure(ctx, x, wait.Err(err)))
			return
		}
		wait.Answered()
		defer Finish(res.Body, wait.Stop)
		out := &Output{wait: wait, yield: yield}
		failure := s.read(ctx, res, out)
		switch {
		case out.done:
			wait.Stop() // the rest of the response is not read
		case failure != nil:
			item, usage, cost := s.Answer.Partial(ctx.Err() != nil)
			if failure.Partial = item; usage.Total() > 0 {
				failure.Usage, failure.Cost = &usage, cost // it is charged anyway
			}
			wait.Stop()
			yield(nil, failure)
		default:
			out.Emit(s.Answer.Complete())
		}
	}
}

// read processes the answer's events until the answer is complete or broken, or the caller stops
// the iteration.
func (s *Stream) read(ctx context.Context, res *http.Response, out *Output) *model.Error {
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "text/html", "application/xhtml+xml":
		return s.Provider.WebPage(out.wait.Reader(res.Body))
	case "application/json": // from a server that does not stream
		text, err := io.ReadAll(io.LimitReader(out.wait.Reader(res.Body), maxDocument))
		if err != nil {
			return s.Provider.StreamBroken(ctx, out.wait.Err(err))
		}
		return s.Answer.Document(text, out)
	}
	events := NewEvents(res.Body)
	for events.Next() {
		if ctx.Err() != nil {
			return s.Provider.StreamBroken(ctx, ctx.Err())
		}
		data := bytes.TrimSpace(events.Data())
		if len(data) == 0 {
			continue
		}
		if more, failure := s.Answer.Event(data, out); failure != nil || !more {
			return failure
		}
	}
	if s.Answer.Ended() && events.Err() == nil {
		return nil
	}
	return s.Provider.StreamBroken(ctx, out.wait.Err(events.Err()))
}

// NoKey is the stream of a provider whose key is missing; name is the environment variable of the key.
func NoKey(provider, name string) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(nil, &model.Error{
			Kind: model.ErrorAuth, Provider: provider,
			Message: "the API key is missing; hint: set " + name + ", or Options.APIKey in a program",
		})
	}
}
