package session

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// erased maps the seqs of erased records to their replacements; nil means no replacement.
type erased map[int64]json.RawMessage

// note adds the replacements in a redacted record. If later is true, existing entries are kept.
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

// erasures is what a [replayer] knows about erased payloads.
type erasures struct {
	known           erased         // replacements from an earlier pass over the log
	current         erased         // replacements from the redacted records of this pass
	empty           map[int64]bool // records without a payload
	blank           []int64        // erased records whose replacement was not known
	needsSecondPass bool           // a second pass would find more replacements
	lost            error          // why folding stopped; after that only redacted records are read
}

// effective returns a record as readers see it: with the replacement of its payload if that was
// erased.
func (e *erasures) effective(r *Record) *Record {
	if r.Payload == nil {
		include(&e.empty, r.Seq)
	}
	instead, ok := e.known[r.Seq]
	if !ok {
		if r.Payload == nil {
			e.blank = append(e.blank, r.Seq)
			e.needsSecondPass = true
		}
		return r
	}
	read := *r
	read.Payload = instead
	return &read
}

// redacted processes a redacted record. The erased records before this one were sent to a model
// with other content, so the marks of model requests up to this record no longer apply.
func (f *replayer) redacted(r *Record) error {
	f.marks = nil
	if err := f.current.note(r.Payload, true); err != nil {
		return err
	}
	for seq := range f.current {
		if _, ok := f.known[seq]; !ok {
			f.needsSecondPass = true
		}
	}
	return nil
}

// unfinished lists the records with a seq above after that still have their payloads because the
// redaction that should erase them was interrupted.
func (e *erasures) unfinished(after int64) []int64 {
	var seqs []int64
	for seq := range e.current {
		if seq > after && !e.empty[seq] {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// replayErased is replay for a log whose payloads may be erased. The function more adds further
// replacements before the second pass; it may be nil.
func replayErased(ctx context.Context, records iter.Seq2[Record, error], m Meta, more func(erased) error) (*replayer, error) {
	f, err := replay(ctx, records, m, nil)
	if err != nil || !f.needsSecondPass {
		return f, err
	}
	known := f.current
	if known == nil {
		known = erased{}
	}
	if more != nil {
		if err := more(known); err != nil {
			return nil, err
		}
	}
	if len(known) == 0 && f.lost == nil { // there are no replacements
		return f, nil
	}
	return replay(ctx, records, m, known)
}

// replay folds a session's log.
func (s *Sessions) replay(ctx context.Context, m Meta) (*replayer, error) {
	f, err := replayErased(ctx, s.records(ctx, m, Range{}), m, func(known erased) error { return s.erasedAbove(ctx, m, known) })
	if err == nil && f.s.Head < m.Head {
		return nil, lostTail(m, f.s.Head)
	}
	if err == nil && f.s.Head == m.Head && f.digest != m.HeadDigest { // the records of an append would not continue the chain
		return nil, &Error{
			Op: "read", Session: m.ID, Seq: m.Head, Err: ErrCorrupt,
			Detail: "the store has a different digest for the last record", Hint: "holdfast sessions repair " + m.ID,
		}
	}
	return f, err
}

// erasedAbove adds to known the shared records of a fork that were erased in its parents after the
// fork was made, with their replacements.
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
				if seq <= seg.last { // includes its deleted parents
					known[seq] = instead
				}
			}
		}
	}
	return nil
}

// Effective yields the records of a session as [Sessions.Records] does, each with the replacement
// of its payload if that was erased. The payload is nil if there is no replacement.
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

// erasedIn reads the replacements of a session's erased records.
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
		case errors.Is(err, ErrCorrupt): // this error is reported when the record itself is read
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
