package hostpipe

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hostedModel is a model for the process in the container. It keeps the messages of the last
// request, so that the transcript of a session is sent and encoded only once.
type hostedModel struct {
	m     model.Model
	wires []model.EncodedItem
}

// stream accepts a model request, and returns the function that sends it. Requests are accepted in
// the order in which they arrive.
func (s *Server) stream(r *request, blob []byte) func(context.Context) (reply, []byte, error) {
	req, m, err := s.request(r.Stream, blob)
	if err == nil {
		err = s.meter.begin()
	}
	return func(ctx context.Context) (a reply, _ []byte, _ error) {
		if err != nil {
			return a, nil, err
		}
		defer s.meter.end()
		return s.metered(ctx, r.ID, m, req)
	}
}

// metered makes a call if the budget allows it.
func (s *Server) metered(ctx context.Context, id uint64, m model.Model, req *model.Request) (reply, []byte, error) {
	if s.meter.budget.USD > 0 { // one call at a time, because the cost of a call is known only after it
		select {
		case s.meter.turn <- struct{}{}:
			defer func() { <-s.meter.turn }()
		case <-ctx.Done():
			return reply{}, nil, &model.Error{Kind: model.ErrorCancelled, Provider: "host", Err: ctx.Err()}
		}
	}
	if err := s.meter.checkBudget(); err != nil {
		return reply{}, nil, err
	}
	return s.relay(ctx, id, m, req)
}

func (s *Server) request(w *wireRequest, blob []byte) (*model.Request, model.Model, error) {
	if w == nil || w.Model < 0 || w.Model >= len(s.models) {
		return nil, nil, &model.Error{Kind: model.ErrorNotFound, Provider: "host", Message: "unknown model"}
	}
	if err := s.meter.checkRequest(w); err != nil {
		return nil, nil, err
	}
	m := s.models[w.Model]
	if w.Keep < 0 || w.Keep > len(m.wires) {
		return nil, nil, fmt.Errorf("%w: it keeps %d messages, but only %d exist", errFrame, w.Keep, len(m.wires))
	}
	wires := slices.Clone(m.wires[:w.Keep])
	for _, size := range w.Sizes {
		if size < 0 || size > len(blob) {
			return nil, nil, fmt.Errorf("%w: a message has %d bytes, but only %d are left", errFrame, size, len(blob))
		}
		var item transcript.Encoded
		err := item.Parse(blob[:size:size])
		if err == nil {
			item, err = plainNative(item, m.m.Info().API)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: a message: %w", errFrame, err)
		}
		wire, err := m.m.Encode(item)
		if err != nil {
			return nil, nil, err
		}
		wires, blob = append(wires, wire), blob[size:]
	}
	if n := sizeOf(w.System, w.Tools, wires); n > maxRequest {
		return nil, nil, overBudgetError("the request of %d MiB is too large", n>>20)
	}
	m.wires = wires
	return &model.Request{
		System: w.System, Tools: w.Tools, Messages: slices.Clip(wires), MaxTokens: w.MaxTokens, Effort: w.Effort,
	}, m.m, nil
}

// relay passes on a model's events. The last event is the answer.
func (s *Server) relay(ctx context.Context, id uint64, m model.Model, req *model.Request) (reply, []byte, error) {
	sent, got, answered := sizeOf(req.System, req.Tools, req.Messages), 0, false
	defer func() {
		if !answered {
			s.meter.countBroken(m.Info(), sent, got)
		}
	}()
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			return reply{}, nil, err
		}
		if a, ok := e.(model.Answer); ok {
			s.meter.countAnswer(m.Info(), &a, sent, got)
			answered = true
		}
		d, err := deltaOf(e)
		if err != nil {
			return reply{}, nil, err
		}
		if d.Answer != nil {
			return reply{Model: d}, nil, nil
		}
		got += len(d.Text) + len(d.Thinking)
		if d.Input != nil {
			got += len(d.Input.JSON) + len(d.Input.Tool)
		}
		s.send(&reply{ID: id, More: true, Model: d}, nil)
	}
	return reply{}, nil, &session.Error{Op: "stream", Err: session.ErrUnsupported, Detail: "the model ended without an answer"}
}

// sizeOf returns the size of a request in bytes.
func sizeOf(system string, tools []model.ToolSpec, messages []model.EncodedItem) int {
	n := len(system)
	for i := range tools {
		n += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Input)
	}
	for i := range messages {
		n += len(messages[i].JSON)
	}
	return n
}
