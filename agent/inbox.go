package agent

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// unconfirmedInput is input whose append failed, and that may be on record all the same. Whoever
// gives the same input again means this one.
type unconfirmedInput struct {
	input []transcript.Part
	items []transcript.Encoded
	taken bool // it was on record, and is queued
}

// enqueue makes input durable and queues it; while a question waits only when
// asking says so.
func (a *Agent) enqueue(ctx context.Context, input []transcript.Part, asking bool) error {
	if err := a.takes(input, asking); err != nil {
		return err
	}
	a.mu.Lock()
	before := a.unsent
	a.mu.Unlock()
	if before != nil { // what is on record of it comes first
		if err := a.readNew(ctx); err != nil {
			return err
		}
	}
	var items []transcript.Encoded
	if before != nil && reflect.DeepEqual(before.input, input) {
		items = before.items
	} else {
		var err error
		if items, err = a.admit(ctx, input); err != nil {
			return err
		}
	}
	drafts := make([]session.Draft, len(items))
	for i, e := range items {
		drafts[i] = session.ItemDraft(e, true, nil)
	}
	err := a.appendAndQueue(ctx, drafts, items)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.unsent = nil
	} else if session.IsTransient(err) {
		a.unsent = &unconfirmedInput{input: slices.Clone(input), items: items}
	}
	return err
}

// appendAndQueue makes drafts durable, and queues items that are among them. The agent's state is
// not locked while the store is at work: a slow one holds up nobody else.
func (a *Agent) appendAndQueue(ctx context.Context, drafts []session.Draft, items []transcript.Encoded) error {
	a.mu.Lock()
	log, closed := a.log, a.closed
	taken := a.unsent != nil && a.unsent.taken && same(a.unsent.items, items)
	a.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case taken:
		return nil
	}
	if log != nil {
		if _, err := log.Append(ctx, drafts...); errors.Is(err, session.ErrClosed) {
			return ErrClosed
		} else if err != nil {
			return err
		}
	}
	a.push(items)
	return nil
}

// push queues items that are durable.
func (a *Agent) push(items []transcript.Encoded) {
	if len(items) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, items...)
	a.notifyWaiters()
}

// requeue queues an item of the agent's own that is on record although its append was told
// as failed.
func (a *Agent) requeue(payload json.RawMessage) error {
	it, err := record.ReadItem(payload)
	if err != nil || !it.Queued {
		return err
	}
	a.mu.Lock()
	if u := a.unsent; u != nil && slices.ContainsFunc(u.items, func(e transcript.Encoded) bool { return e.ID() == it.Item.ID() }) {
		u.taken = true
	}
	a.mu.Unlock()
	a.push([]transcript.Encoded{it.Item})
	return nil
}
