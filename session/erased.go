package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// erased maps the seqs that redacted records name to what is read instead; nil where
// nothing is.
type erased map[int64]json.RawMessage

// note takes in a redacted record. What a later one says stays.
func (e *erased) note(payload json.RawMessage, later bool) error {
	var p record.Redacted
	if err := json.Unmarshal(payload, &p); err != nil {
		return err
	}
	if *e == nil {
		*e = erased{}
	}
	put := func(seq int64, instead json.RawMessage) {
		if was, ok := (*e)[seq]; !ok || later || was == nil && instead != nil {
			(*e)[seq] = instead
		}
	}
	for _, seq := range p.Seqs {
		put(seq, nil)
	}
	for _, i := range p.Replacements {
		put(i.Seq, i.Payload)
	}
	return nil
}

// erasures is what a [replayer] knows of payloads that were erased.
type erasures struct {
	known erased         // from reading the log before
	told  erased         // by the redacted records met this time
	empty map[int64]bool // records met without a payload
	blank []int64        // of those: what stands in their place was not known
	again bool           // reading once more would tell more
	lost  error          // why folding stopped; only redacted records are taken in since
}

// effective is a record as it is to be read: with what stands in the place of its
// payload, if that was erased.
func (e *erasures) effective(r *Record) *Record {
	if r.Payload == nil {
		include(&e.empty, r.Seq)
	}
	instead, ok := e.known[r.Seq]
	if !ok {
		if r.Payload == nil {
			e.blank = append(e.blank, r.Seq)
			e.again = true
		}
		return r
	}
	read := *r
	read.Payload = instead
	return &read
}

// redacted takes in which records were erased. Those before it were sent to a model
// in other words, so what was noted of that says nothing any more.
func (f *replayer) redacted(r *Record) error {
	f.marks = nil
	if err := f.told.note(r.Payload, true); err != nil {
		return err
	}
	for seq := range f.told {
		if _, ok := f.known[seq]; !ok {
			f.again = true
		}
	}
	return nil
}

// unfinished lists the seqs above after that were to be erased and still have their
// payloads: something came between.
func (e *erasures) unfinished(after int64) []int64 {
	var seqs []int64
	for seq := range e.told {
		if seq > after && !e.empty[seq] {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// replayErased is replay for a log in which payloads may have been erased. more adds
// to what is known; it may be nil.
func replayErased(ctx context.Context, records iter.Seq2[Record, error], m Meta, more func(erased) error) (*replayer, error) {
	f, err := replay(ctx, records, m, nil)
	if err != nil || !f.again {
		return f, err
	}
	known := f.told
	if known == nil {
		known = erased{}
	}
	if more != nil {
		if err := more(known); err != nil {
			return nil, err
		}
	}
	if len(known) == 0 && f.lost == nil { // nobody says what was there
		return f, nil
	}
	return replay(ctx, records, m, known)
}

// replay folds the log of a session.
func (s *Sessions) replay(ctx context.Context, m Meta) (*replayer, error) {
	f, err := replayErased(ctx, s.records(ctx, m, Range{}), m, func(known erased) error { return s.erasedAbove(ctx, m, known) })
	if err == nil && f.s.Head < m.Head {
		return nil, lostTail(m, f.s.Head)
	}
	if err == nil && f.s.Head == m.Head && f.digest != m.HeadDigest { // what is appended would not follow
		return nil, &Error{
			Op: "read", Session: m.ID, Seq: m.Head, Err: ErrCorrupt,
			Detail: "the store names another digest for the last record", Hint: "holdfast sessions repair " + m.ID,
		}
	}
	return f, err
}

// erasedAbove adds what was erased in the parents of a fork after the fork left them.
func (s *Sessions) erasedAbove(ctx context.Context, m Meta, known erased) error {
	if m.Parent == "" {
		return nil
	}
	for seg, err := range s.parents(ctx, m, 0) {
		if err != nil {
			return err
		}
		for r, err := range s.store.Read(ctx, seg.id, Range{After: seg.last}) {
			if err != nil {
				return err
			}
			if r.Kind != record.KindRedacted || r.Payload == nil {
				continue
			}
			var of erased
			if err := of.note(r.Payload, true); err != nil {
				return &Error{Op: "read", Session: seg.id, Seq: r.Seq, Err: ErrCorrupt, Detail: "redacted: " + err.Error()}
			}
			for seq, instead := range of {
				if seq <= seg.last { // also of its own parents, when those are deleted
					known[seq] = instead
				}
			}
		}
	}
	return nil
}

// Effective yields the records of a session as [Sessions.Records] does, each with what
// is read in the place of its payload if that was erased; nil where nothing is.
func (s *Sessions) Effective(ctx context.Context, id string, r Range) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var known erased
		for rec, err := range s.Records(ctx, id, r) {
			if err == nil && rec.Payload == nil {
				if known == nil {
					if known, err = s.erasedIn(ctx, id); err != nil {
						yield(Record{}, err)
						return
					}
				}
				rec.Payload = known[rec.Seq]
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// erasedIn reads what stands for the erased records of a session.
func (s *Sessions) erasedIn(ctx context.Context, id string) (erased, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.erasedOf(ctx, m)
}

func (s *Sessions) erasedOf(ctx context.Context, m Meta) (erased, error) {
	known := erased{}
	for r, err := range s.records(ctx, m, Range{}) {
		switch {
		case errors.Is(err, ErrCorrupt): // that is told where it is read
		case err != nil:
			return nil, err
		case r.Kind == record.KindRedacted && r.Payload != nil:
			if err := known.note(r.Payload, true); err != nil {
				return nil, &Error{Op: "read", Session: m.ID, Seq: r.Seq, Err: ErrCorrupt, Detail: "redacted: " + err.Error()}
			}
		}
	}
	if err := s.erasedAbove(ctx, m, known); err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	return known, nil
}
