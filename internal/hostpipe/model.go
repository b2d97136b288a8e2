package hostpipe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// apiPrefix precedes the name of the encoding that the host's adapter uses, because the container
// sends the items themselves.
const apiPrefix = "items:"

// Model returns the host's model with the number 0 or 1, which info describes. The model's keys
// stay on the host, and so does the encoding: in the container, an encoded item is the item itself.
func (c *Client) Model(number int, info model.Info) model.Model {
	info.API = apiPrefix + info.API
	return &hostModel{c: c, number: number, info: info}
}

// hostModel is a model of the host.
type hostModel struct {
	c      *Client
	number int
	info   model.Info

	mu   sync.Mutex // only one request is sent at a time
	sent []model.EncodedItem
}

// Info implements [model.Model].
func (m *hostModel) Info() model.Info { return m.info }

// Encode implements [model.Model].
func (m *hostModel) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	return model.EncodedItem{Role: string(item.Role()), JSON: item.JSON}, nil
}

// Stream implements [model.Model].
func (m *hostModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		r, k, err := m.send(req)
		for err == nil {
			var a answer
			if a, err = k.wait(ctx, r); err != nil {
				break
			}
			if a.Model == nil {
				err = &model.Error{Kind: model.ErrorNetwork, Provider: m.info.Provider, Message: "the host ended without an answer"}
				break
			}
			var e model.Event
			if e, err = a.Model.event(); err == nil && !yield(e, nil) {
				m.c.drop(r.ID)
				return
			}
			if !a.More {
				return
			}
		}
		if r != nil && ctx.Err() != nil {
			err = m.interrupted(ctx, r, k, err)
		}
		if r != nil {
			m.c.drop(r.ID)
		}
		yield(nil, m.modelError(ctx, err))
	}
}

// interrupted waits for the host's partial answer after a cancellation.
func (m *hostModel) interrupted(ctx context.Context, r *request, k *call, err error) error {
	m.c.cancel(r.ID)
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer stop()
	for {
		a, ended := k.wait(late, r)
		switch {
		case ended != nil && late.Err() == nil:
			return ended
		case ended != nil || !a.More:
			return err
		}
	}
}

// send sends the new messages of a request. The host keeps the messages of the previous request.
func (m *hostModel) send(req *model.Request) (*request, *call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &wireRequest{Model: m.number, System: req.System, Tools: req.Tools, MaxTokens: req.MaxTokens, Effort: req.Effort}
	for w.Keep < len(m.sent) && w.Keep < len(req.Messages) && bytes.Equal(m.sent[w.Keep].JSON, req.Messages[w.Keep].JSON) {
		w.Keep++
	}
	var blob []byte
	for _, msg := range req.Messages[w.Keep:] {
		w.Sizes, blob = append(w.Sizes, len(msg.JSON)), append(blob, msg.JSON...)
	}
	r := &request{Op: opStream, Stream: w}
	k, err := m.c.start(r, blob)
	if err != nil {
		return nil, nil, err
	}
	m.sent = append([]model.EncodedItem(nil), req.Messages...)
	return r, k, nil
}

// modelError converts an error to a [model.Error].
func (m *hostModel) modelError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if cause := context.Cause(ctx); cause != nil {
		cancelled := &model.Error{Kind: model.ErrorCancelled, Provider: m.info.Provider, Err: cause}
		if ok {
			cancelled.Partial = e.Partial
		}
		return cancelled
	}
	if ok {
		return e
	}
	return &model.Error{Kind: model.ErrorInvalid, Provider: m.info.Provider, Message: err.Error(), Err: err}
}

func (d *wireDelta) event() (model.Event, error) {
	switch {
	case d.Answer != nil:
		var it transcript.Item
		if err := it.UnmarshalJSON(d.Answer); err != nil {
			return nil, fmt.Errorf("%w: an answer: %w", errFrame, err)
		}
		return model.Answer{Item: it, More: d.Continues, Cost: d.Cost}, nil
	case d.Input != nil:
		return *d.Input, nil
	case d.Notice != "":
		return model.Notice{Text: d.Notice}, nil
	case d.Thinking != "":
		return model.ThinkingDelta{Text: d.Thinking}, nil
	}
	return model.TextDelta{Text: d.Text}, nil
}

func deltaOf(e model.Event) (*wireDelta, error) {
	switch e := e.(type) {
	case model.TextDelta:
		return &wireDelta{Text: e.Text}, nil
	case model.ThinkingDelta:
		return &wireDelta{Thinking: e.Text}, nil
	case model.ToolInputDelta:
		return &wireDelta{Input: &e}, nil
	case model.Answer:
		b, err := e.Item.MarshalJSON()
		return &wireDelta{Answer: b, Continues: e.More, Cost: e.Cost}, err
	case model.Notice:
		return &wireDelta{Notice: e.Text}, nil
	}
	return nil, fmt.Errorf("%w: model event %T", session.ErrUnsupported, e)
}

// Ask presents a recorded approval request to the host's approver. If the error is nil, the answer
// is in the log or soon will be, and the caller waits for it there. [approval.ErrLeave] leaves the
// request pending. Any other error denies the call.
func (c *Client) Ask(ctx context.Context, question string) error {
	r := &request{Op: opAsk, Question: question}
	k, err := c.start(r, nil)
	if err != nil {
		return err
	}
	defer c.drop(r.ID)
	_, err = k.wait(ctx, r)
	return err
}
