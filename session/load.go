package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// LoadOptions selects the page that [Sessions.Load] returns. Limit alone gives the last Limit
// items; with Offset (0-based, from the oldest) it gives the items from there on. Values of 0 or
// less mean unset.
type LoadOptions struct {
	Limit  int
	Offset int
}

// Loaded is a session as read from the store. Meta.MessageCount counts the whole transcript, not
// the page.
type Loaded struct {
	Meta    Meta
	Items   []transcript.Encoded
	Notices []string // one message for each record or range of records that was left out because it could not be read
}

// Load reads a session's transcript, or its last items. It takes no lease and changes nothing.
// It returns ErrNotFound if there is no such session. The cost of reading the last items does not
// grow with the session.
//
// A damaged record is left out and reported in Notices; [Sessions.Restore] and [Log.Snapshot]
// return ErrCorrupt for such a session.
func (s *Sessions) Load(ctx context.Context, id string, o *LoadOptions) (*Loaded, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	var page LoadOptions
	if o != nil {
		page = *o
	}
	l := &Loaded{Meta: m}
	want := page.Limit
	if page.Offset > 0 {
		if want = m.MessageCount - page.Offset; want <= 0 {
			return l, nil
		}
	}
	b := s.backwards(ctx, m)
	for e := range b.items {
		l.Items = append(l.Items, e.item)
		if want > 0 && len(l.Items) == want {
			break
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	slices.Reverse(l.Items)
	if page.Offset > 0 && page.Limit > 0 && len(l.Items) > page.Limit {
		l.Items = l.Items[:page.Limit]
	}
	l.Notices = b.notices
	return l, nil
}

// reverseReader reads a transcript from its end.
type reverseReader struct {
	ctx         context.Context
	s           *Sessions
	m           Meta
	notices     []string
	err         error
	erased      erased // replacements of erased payloads
	parentsRead bool   // true if the parents were read too
	next        int64  // the next seq expected; -1 if unknown
}

// locatedItem is an item of the transcript and the record that contains it. In a rewrite record, at
// is the index of the item and of is the number of items; otherwise both are 0.
type locatedItem struct {
	item   transcript.Encoded
	record Record
	at, of int
}

// hasFollowing reports whether the record also contains items after this one.
func (f locatedItem) hasFollowing() bool { return f.at+1 < f.of }

func (s *Sessions) backwards(ctx context.Context, m Meta) *reverseReader {
	return &reverseReader{ctx: ctx, s: s, m: m}
}

// items yields the transcript's items, last first, and reads only as far as needed. If an error
// ends the sequence, it is in b.err.
func (b *reverseReader) items(yield func(locatedItem) bool) {
	skip := "" // the items after the one with this id were cut
	emit := func(f locatedItem) bool {
		if skip != "" {
			if f.item.ID() != skip {
				return true
			}
			skip = ""
		}
		return yield(f)
	}
	// Stop at the head in b.m: another writer may be appending.
	b.next = b.m.Head
	for r, err := range b.s.records(b.ctx, b.m, Range{Reverse: true, Until: b.m.Head}) {
		b.checkGap(r, err)
		if err == nil {
			err = r.Check()
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				b.err = err
				return
			}
			b.noteSkipped(r, err)
			continue
		}
		if r = b.effective(r); b.err != nil {
			return
		}
		if r.Payload == nil {
			continue
		}
		switch r.Kind {
		case record.KindRedacted:
			if err := b.erased.note(r.Payload, false); err != nil {
				b.noteSkipped(r, err)
			}
		case KindItem:
			it, err := record.ReadItem(r.Payload)
			if err != nil {
				b.noteSkipped(r, err)
				continue
			}
			if !it.Queued && !emit(locatedItem{item: it.Item, record: r}) {
				return
			}
		case record.KindRewrite:
			items, cut, err := readRewrite(r.Payload)
			if err != nil {
				b.noteSkipped(r, err)
				continue
			}
			if cut != "" {
				if skip == "" {
					skip = cut
				}
				continue
			}
			for i, item := range slices.Backward(items) {
				if !emit(locatedItem{item, r, i, len(items)}) {
					return
				}
			}
			return
		}
	}
	if b.next == b.m.Head && b.err == nil {
		b.err = lostTail(b.m, 0)
	}
	b.noteMissing(0)
}

// checkGap checks that no record is missing between the previous one and r.
func (b *reverseReader) checkGap(r Record, err error) {
	if e, ok := errors.AsType[*Error](err); ok && r.Seq == 0 {
		r.Seq = e.Seq
	}
	if r.Seq == 0 { // the parent is missing, with all its records
		b.next = -1
		return
	}
	b.noteMissing(r.Seq)
	b.next = r.Seq - 1
}

// noteMissing adds a notice about the records above seq that the store does not have.
func (b *reverseReader) noteMissing(seq int64) {
	switch {
	case b.next <= seq:
	case b.next == seq+1:
		b.notices = append(b.notices, fmt.Sprintf("record %d of session %s is missing", b.next, b.m.ID))
	default:
		b.notices = append(b.notices, fmt.Sprintf("records %d to %d of session %s are missing", seq+1, b.next, b.m.ID))
	}
}

// lostTail is the error for a log that ends before its acknowledged head.
func lostTail(m Meta, at int64) error {
	return &Error{
		Op: "read", Session: m.ID, Seq: at + 1, Err: ErrCorrupt,
		Detail: fmt.Sprintf("the log ends at record %d, but record %d was acknowledged", at, m.Head), Hint: "holdfast sessions verify " + m.ID,
	}
}

// effective returns a record with the replacement of its payload. A backward read finds the records
// with the replacements first, except those that were added to a parent after the fork.
func (b *reverseReader) effective(r Record) Record {
	instead, ok := b.erased[r.Seq]
	if !ok && r.Payload == nil && !b.parentsRead {
		b.parentsRead = true
		if b.erased == nil {
			b.erased = erased{}
		}
		above := erased{}
		if b.err = b.s.erasedAbove(b.ctx, b.m, above); b.err != nil {
			return r
		}
		for seq, payload := range above {
			if _, known := b.erased[seq]; !known {
				b.erased[seq] = payload
			}
		}
		instead, ok = b.erased[r.Seq]
	}
	if ok {
		r.Payload = instead
	}
	return r
}

func (b *reverseReader) noteSkipped(r Record, err error) {
	seq := r.Seq
	if e, ok := errors.AsType[*Error](err); ok && e.Seq != 0 {
		seq = e.Seq
	}
	b.notices = append(b.notices, fmt.Sprintf("record %d of session %s was left out: %v", seq, b.m.ID, err))
}
