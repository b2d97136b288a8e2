package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Save makes items the stored transcript of id. It leaves stored items unchanged, appends new ones,
// and writes one rewrite record if the stored and the new items differ before the end. A nil patch,
// or a nil field of the patch, leaves the metadata unchanged. If there is no such session, it is
// created.
//
// Two items are equal if they have the same content, whatever their times, and the same id if the
// new one has an id. New items without an id or a time get one. Save takes the lease, and returns
// ErrBusy if another process holds it. It returns ErrInvalid if the items break the pairing rule;
// open tool uses at the end are allowed.
func (s *Sessions) Save(ctx context.Context, id string, items []transcript.Item, patch *MetaPatch) error {
	given, err := encodeAll(id, items)
	if err != nil {
		return err
	}
	for {
		l, err := s.Open(ctx, id, nil)
		if errors.Is(err, ErrNotFound) {
			l, err = s.saveNew(ctx, id, given, patch)
			if errors.Is(err, ErrExists) { // another process created it first
				continue
			}
			if err == nil {
				err = l.Close()
			}
			return err
		}
		if err != nil {
			return err
		}
		return errors.Join(l.save(ctx, given, patch), l.Close())
	}
}

// encodeAll checks and encodes items from outside the session.
func encodeAll(id string, items []transcript.Item) ([]transcript.Encoded, error) {
	var t transcript.Transcript
	bad := func(i int, err error) error {
		return &Error{Op: "save", Session: id, Err: invalid{err}, Detail: fmt.Sprintf("item %d: %v", i, err)}
	}
	for i, it := range items {
		e, err := it.Encode()
		if err == nil && it.ID != "" && t.Find(it.ID) >= 0 {
			err = fmt.Errorf("its id %s is already used by item %d", it.ID, t.Find(it.ID))
		}
		if err == nil {
			err = t.Append(e)
		}
		if err != nil {
			return nil, bad(i, err)
		}
	}
	return t.Items(), nil
}

func (s *Sessions) saveNew(ctx context.Context, id string, items []transcript.Encoded, patch *MetaPatch) (*Log, error) {
	o := Opened{SessionID: id}
	if patch != nil {
		for _, f := range []struct {
			dst *string
			src *string
		}{
			{&o.Title, patch.Title},
			{&o.Summary, patch.Summary},
			{&o.Tag, patch.Tag},
			{&o.CWD, patch.CWD},
			{&o.Project, patch.Project},
			{&o.Model, patch.Model},
			{&o.GitBranch, patch.GitBranch},
		} {
			if f.src != nil {
				*f.dst = *f.src
			}
		}
	}
	drafts, err := s.itemDrafts(items)
	if err != nil {
		return nil, err
	}
	// Append the patch again: the model of an answer must not replace the requested one.
	if patch != nil && patch.Model != nil && len(drafts) > 0 {
		d, err := NewDraft(record.KindMetaChanged, MetaPatch{Model: patch.Model})
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, d)
	}
	return s.create(ctx, o, drafts...)
}

// itemDrafts makes records of items that may have no id or time.
func (s *Sessions) itemDrafts(items []transcript.Encoded) ([]Draft, error) {
	drafts := make([]Draft, len(items))
	now := s.opt.Clock().UTC().Truncate(time.Millisecond)
	for i, e := range items {
		e, err := s.complete(e, now)
		if err != nil {
			return nil, err
		}
		drafts[i] = ItemDraft(e, false, nil)
	}
	return drafts, nil
}

// complete gives an item an id and a time if it has none.
func (s *Sessions) complete(e transcript.Encoded, now time.Time) (transcript.Encoded, error) {
	it, err := e.Decode()
	if err != nil || it.ID != "" && !it.Time.IsZero() {
		return e, err
	}
	if it.ID == "" {
		it.ID = s.opt.NewID()
	}
	if it.Time.IsZero() {
		it.Time = now
	}
	return it.Encode()
}

// save brings an open session to the given transcript in one batch.
func (l *Log) save(ctx context.Context, given []transcript.Encoded, patch *MetaPatch) error {
	state, err := l.Snapshot(ctx)
	if err != nil {
		return err
	}
	stored := state.Items
	same := 0
	for same < len(stored) && same < len(given) && sameItem(stored[same], given[same]) {
		same++
	}
	var drafts []Draft
	switch {
	case same == len(stored):
		drafts, err = l.s.itemDrafts(given[same:])
	case same == len(given) && same > 0 && stored[same-1].ID() != "":
		var d Draft
		d, err = NewDraft(record.KindRewrite, Rewrite{Reason: "truncate", By: "save", TruncateAfter: stored[same-1].ID(), Messages: same})
		drafts = append(drafts, d)
	default:
		var d Draft
		d, err = l.replacement(stored[:same], given[same:])
		drafts = append(drafts, d)
	}
	if err != nil {
		return err
	}
	if patch != nil {
		m := l.Meta()
		if len(drafts) > 0 {
			m.Model = "" // an answer may have changed the model, so set it again
		}
		d, changes, err := patch.draft(m)
		if err != nil {
			return err
		}
		if changes {
			drafts = append(drafts, d)
		}
	}
	_, err = l.Append(ctx, drafts...)
	return err
}

// replacement returns the rewrite that keeps some stored items and continues with new ones.
func (l *Log) replacement(kept, added []transcript.Encoded) (Draft, error) {
	w := Rewrite{Reason: "mutator", By: "save", Messages: len(kept) + len(added)}
	for _, e := range kept {
		w.Items = append(w.Items, e.JSON)
	}
	now := l.s.opt.Clock().UTC().Truncate(time.Millisecond)
	for _, e := range added {
		e, err := l.s.complete(e, now)
		if err != nil {
			return Draft{}, err
		}
		w.Items = append(w.Items, e.JSON)
	}
	return NewDraft(record.KindRewrite, w)
}

// sameItem reports whether a stored item equals one to be saved.
func sameItem(stored, given transcript.Encoded) bool {
	if given.ID() != "" && given.ID() != stored.ID() {
		return false
	}
	if bytes.Equal(stored.JSON, given.JSON) {
		return true
	}
	a, errA := comparableItem(stored)
	b, errB := comparableItem(given)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// comparableItem returns an item's canonical form without id and time.
func comparableItem(e transcript.Encoded) ([]byte, error) {
	it, err := e.Decode()
	if err != nil {
		return nil, err
	}
	it.ID, it.Time = "", time.Time{}
	e, err = it.Encode()
	return e.JSON, err
}
