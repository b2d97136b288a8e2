package hostpipe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/terminalseq"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// SendEvent sends an event to the host, in the order of the calls.
func (c *Client) SendEvent(e event.Event) error {
	r, err := packEvent(e)
	if err != nil {
		return err
	}
	return c.f.write(r, nil)
}

// packEvent encodes an event as a request. The event's error is encoded separately, so that it
// still matches its sentinel error. For an item only the number of its record is sent, because the
// host has the record.
func packEvent(e event.Event) (*request, error) {
	b, err := event.Marshal(withoutItem(event.WithErr(e, nil)))
	if err != nil {
		return nil, err
	}
	return &request{Op: opEvent, Event: b, Error: toWire(event.Err(e))}, nil
}

func withoutItem(e event.Event) event.Event {
	switch e := e.(type) {
	case event.ItemAppended:
		return event.ItemAppended{Seq: e.Seq}
	case event.SubagentEvent:
		e.Event = withoutItem(e.Event)
		return e
	}
	return e
}

// unpackEvent decodes an event. It removes terminal control sequences of hooks that are not safe.
func unpackEvent(r *request) (event.Event, error) {
	if r.Event == nil {
		return nil, fmt.Errorf("%w: an event without content", errFrame)
	}
	e, err := event.Unmarshal(r.Event)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return withoutUnsafeSequences(event.WithErr(e, r.Error.err())), nil
}

func withoutUnsafeSequences(e event.Event) event.Event {
	switch e := e.(type) {
	case event.TerminalSequences:
		e.Sequences = slices.DeleteFunc(e.Sequences, func(seq string) bool { return !terminalseq.Safe(seq) })
		return e
	case event.SubagentEvent:
		e.Event = withoutUnsafeSequences(e.Event)
		return e
	}
	return e
}

// passEvent passes an event of the agent to ServeOptions.Event. An item is replaced by the one in the
// host's own record.
func (s *Server) passEvent(ctx context.Context, r *request) error {
	e, err := unpackEvent(r)
	if err != nil {
		return err
	}
	e, size, err := s.recorded(ctx, s.o.Session, e)
	if err != nil {
		return err
	}
	if s.o.Event != nil {
		s.o.Event(e, max(size, len(r.Event)))
	}
	return nil
}

// recorded replaces the item in an event by the one that the host has recorded, and returns the
// size of that item in bytes. Without an item, the size is 0.
func (s *Server) recorded(ctx context.Context, id string, e event.Event) (_ event.Event, size int, err error) {
	switch of := e.(type) {
	case event.ItemAppended:
		if of.Item, err = s.item(ctx, id, of.Seq); err != nil {
			return nil, 0, err
		}
		return of, len(of.Item.JSON), nil
	case event.SubagentEvent:
		if err := s.limits.checkWritable(ctx, of.Session); err != nil {
			return nil, 0, err
		}
		of.Event, size, err = s.recorded(ctx, of.Session, of.Event)
		return of, size, err
	}
	return e, 0, nil
}

// item returns the item in a record of a session.
func (s *Server) item(ctx context.Context, id string, seq int64) (transcript.Encoded, error) {
	for r, err := range s.sessions.Store().Read(ctx, id, session.Range{After: seq - 1, Until: seq}) {
		if err != nil {
			return transcript.Encoded{}, err
		}
		if r.Kind != session.KindItem || r.Payload == nil {
			break
		}
		it, err := record.ReadItem(r.Payload)
		return it.Item, err
	}
	return transcript.Encoded{}, fmt.Errorf("%w: record %d is not an item", errFrame, seq)
}

// Fail reports to the host what stopped the agent.
func (c *Client) Fail(err error) error {
	return c.f.write(&request{Op: opFailed, Error: toWire(err)}, nil)
}

// EncodeParts encodes input as JSON.
func EncodeParts(parts []transcript.Part) (json.RawMessage, error) {
	it := transcript.Item{ID: "input", Role: transcript.RoleUser, Parts: parts}
	return it.MarshalJSON()
}

// DecodeParts decodes the output of [EncodeParts].
func DecodeParts(b []byte) ([]transcript.Part, error) {
	var it transcript.Item
	if err := it.UnmarshalJSON(b); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if len(it.Parts) == 0 {
		return nil, errors.New("input: it is empty")
	}
	return it.Parts, nil
}
