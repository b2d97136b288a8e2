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

// unconfirmedInput is input whose append returned an error, although the input may have been
// recorded. If the same input is given again, it is treated as a retry.
type unconfirmedInput struct {
	input []transcript.Part
	items []transcript.Encoded
	taken bool // the input was recorded despite the error, and is now queued
}

// enqueue makes input durable and queues it. While an approval request waits, enqueue queues the
// input only if the parameter asking is true.
func (a *Agent) enqueue(ctx context.Context, input []transcript.Part, asking bool) error {
	if err := a.checkInput(input, asking); err != nil {
		return err
	}
	a.mu.Lock()
	before := a.unconfirmed
	a.mu.Unlock()
	if before != nil { // the earlier attempt may have been recorded
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
		a.unconfirmed = nil
	} else if session.IsTransient(err) {
		a.unconfirmed = &unconfirmedInput{input: slices.Clone(input), items: items}
	}
	return err
}

// appendAndQueue makes drafts durable and queues the items among them. The agent's state is not
// locked during the append, so a slow store does not block other calls.
func (a *Agent) appendAndQueue(ctx context.Context, drafts []session.Draft, items []transcript.Encoded) error {
	a.mu.Lock()
	log, closed := a.log, a.closed
	taken := a.unconfirmed != nil && a.unconfirmed.taken && sameItems(a.unconfirmed.items, items)
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

// requeue queues an item that was recorded, although its append reported an error.
func (a *Agent) requeue(payload json.RawMessage) error {
	it, err := record.ReadItem(payload)
	if err != nil || !it.Queued {
		return err
	}
	a.mu.Lock()
	if u := a.unconfirmed; u != nil && slices.ContainsFunc(u.items, func(e transcript.Encoded) bool { return e.ID() == it.Item.ID() }) {
		u.taken = true
	}
	a.mu.Unlock()
	a.push([]transcript.Encoded{it.Item})
	return nil
}
